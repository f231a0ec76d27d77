"""The commands of the dalle family."""
