"""Every step of one answer, with the model's own numbers: on a page, in a file, in a picture, in a notebook."""
