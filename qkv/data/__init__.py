"""Data: what people have, and the built-in worlds."""
