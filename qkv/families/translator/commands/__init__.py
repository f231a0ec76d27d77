"""The commands of the translator family."""
