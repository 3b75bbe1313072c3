"""Studies: files that say what is played, and stores that keep what came out."""
