"""Import and export: weights and formats of other libraries."""
