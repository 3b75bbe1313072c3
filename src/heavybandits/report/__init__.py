"""Figures, tables and one HTML page from stored results; nothing here runs a simulation."""

from .page import write_report
from .terminal import terminal_summary

__all__ = ["terminal_summary", "write_report"]
