"""Parallel corpora before training: which sentence pairs to keep, and why the others are dropped. No torch."""
