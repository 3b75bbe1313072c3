"""The page: what is going on in each experiment, and the few things that can be changed there."""
