"""One folder per model family; `FAMILIES` is the only list of them."""
