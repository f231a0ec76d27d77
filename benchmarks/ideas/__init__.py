"""Changes to the model and the optimizer of `multi30k-tiny` that benchmarks/multi30k_ideas.py measures."""
