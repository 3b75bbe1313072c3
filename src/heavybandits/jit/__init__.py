"""From plain Python methods to machine code: the only room that knows numba's interface."""
