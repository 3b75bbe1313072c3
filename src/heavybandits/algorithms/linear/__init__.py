"""Policies for rewards that are linear in features, one per file; the folder is the registry, as in ``policies``."""
