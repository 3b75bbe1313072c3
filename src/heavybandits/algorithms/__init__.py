"""Policies, estimators, and the kit that they are made of."""
