"""Confidence bounds that are level sets of a learned loss, for arms."""
