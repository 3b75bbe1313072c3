"""Decisions one at a time: the agent and the file it is saved in."""
