"""What is known about arms at all times, however they were chosen: winners, intervals, lifts, and what is still needed.

It knows rewards and arms only.  ``docs/evidence.md`` proves what is said here.
"""
