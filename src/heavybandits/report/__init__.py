"""Figures, tables and one HTML page from stored results; nothing here runs a simulation."""

from .artist import Artist
from .page import write_page, write_report
from .section import Section, study_section
from .terminal import terminal_summary

__all__ = ["Artist", "Section", "study_section", "terminal_summary", "write_page", "write_report"]
