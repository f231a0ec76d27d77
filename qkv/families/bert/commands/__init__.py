"""The commands of the bert family."""
