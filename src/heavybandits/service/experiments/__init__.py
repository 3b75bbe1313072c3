"""What may be asked of an experiment: to begin and end, to change, to decide, to learn a reward."""
