"""What is played against: noises and instances."""
