"""Logs from anywhere: tables of any library and files, as named NumPy columns, and the rewards in them."""
