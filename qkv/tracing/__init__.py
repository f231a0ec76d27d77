"""Every number on the way to an output, recorded by name."""
