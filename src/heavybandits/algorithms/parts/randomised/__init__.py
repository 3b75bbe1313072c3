"""Policies that draw their arms: follow the regularised leader, and perturbed leaders."""
