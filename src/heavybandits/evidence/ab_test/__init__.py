"""What an analyst adds to evidence on an A/B test: a column from before, planned shares, guardrails, one look."""
