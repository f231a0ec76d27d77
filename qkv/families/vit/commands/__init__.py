"""The commands of the vit family."""
