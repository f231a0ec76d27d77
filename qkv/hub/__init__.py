"""Published weights under our names, and our models in the formats of other programs."""
