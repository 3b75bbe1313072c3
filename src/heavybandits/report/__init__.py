"""Figures, tables and one HTML page from stored results; only :mod:`.folder` runs studies before it reports on them."""

from .page import write_report

__all__ = ["write_report"]
