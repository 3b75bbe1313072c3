"""Decisions for any language: an event log in a database, replicas of agents that follow it, and an HTTP interface."""
