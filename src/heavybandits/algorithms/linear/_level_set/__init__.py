"""The level sets of ``linear-auto``: the line, the law of the noise, and how both are learned."""
