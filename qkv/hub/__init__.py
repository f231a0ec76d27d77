"""Published weights under our names, and ours in the formats of other programs."""
