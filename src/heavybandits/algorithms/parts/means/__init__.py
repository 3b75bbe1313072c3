"""Robust means and what they are computed from."""
