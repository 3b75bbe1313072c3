"""What a state is made of, and how its tree of arrays is walked, copied, saved and grown."""
