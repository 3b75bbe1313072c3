"""What policies and estimators are made of."""
