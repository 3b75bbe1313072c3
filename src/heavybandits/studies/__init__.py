"""Studies: files that say what is played, and stores that keep the results."""
