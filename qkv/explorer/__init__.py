"""The explorer: every step of a model's computation, on a page, in a file, as an image or in a notebook."""
