"""From logits to ids. It knows a step function, not a model."""
