"""The page: what goes on in each experiment, and the few things that one may change there."""
