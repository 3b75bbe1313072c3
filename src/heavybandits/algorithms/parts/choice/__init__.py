"""How the next arm is chosen: the highest index, turns, and rewards that are still to come."""
