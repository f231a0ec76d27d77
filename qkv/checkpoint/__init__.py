"""What is kept on disk: the bundle that people use, and the state from which training goes on."""
