"""What a translation owes its source: terms, protected spans, tags, no loops."""
