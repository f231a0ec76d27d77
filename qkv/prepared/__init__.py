"""Training data larger than memory: sentence pairs and their tokens in files that are mapped when they are used."""
