"""Policies for arms that are points of a cube, one per file; the folder is the registry, as in ``policies``."""
