"""Replicas: experiments as their events have made them, in memory, as bytes and as reports."""
