"""The log: lanes that store what is asked in batches, and what an experiment's share of a batch may do."""
