"""The parts that policies and estimators are made of."""
