"""What is on disk: the bundle that people use, and the state to resume training from."""
