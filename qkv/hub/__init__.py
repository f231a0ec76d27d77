"""Weights that others have published, under our names."""
