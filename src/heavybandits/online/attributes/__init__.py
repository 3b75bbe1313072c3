"""Named attributes as features: what an attribute is, a schema of them, rows of arms, and an agent that takes them."""
