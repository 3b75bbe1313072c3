"""What policies play against: noises and instances."""
