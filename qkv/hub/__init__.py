"""Published weights under our names."""
