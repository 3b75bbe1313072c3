"""What the command line does with a whole database: check it, prune it, write out its events."""
