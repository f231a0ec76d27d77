"""Clean parallel corpora before training: which pairs to keep, and why others are dropped. No torch."""
