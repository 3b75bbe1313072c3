"""The simulator: the loop, its games and its random streams."""
