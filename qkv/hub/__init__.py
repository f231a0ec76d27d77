"""Weights and formats of other libraries: theirs in, ours out."""
