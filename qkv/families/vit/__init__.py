"""Image classifiers (Vision Transformer)."""
