"""What policies are made of, by idea: states, the choice of an arm, means, regression, random choice."""
