"""The simulator: the loop, its random streams and its results."""
