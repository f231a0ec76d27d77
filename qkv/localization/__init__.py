"""What localisers keep between projects: the translation memory. No torch."""
