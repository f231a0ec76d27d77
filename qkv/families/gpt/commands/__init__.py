"""The commands of the gpt family."""
