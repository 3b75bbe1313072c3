"""Decisions one at a time: agents and the files they are saved in."""
