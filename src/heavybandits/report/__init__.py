"""Figures, tables and one HTML page from stored results; nothing here runs a simulation."""

from .page import write_report

__all__ = ["write_report"]
