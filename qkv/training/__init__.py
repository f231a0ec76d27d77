"""One training loop for every model, its settings, and how each model is trained."""
