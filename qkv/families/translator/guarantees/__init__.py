"""Guarantees about translations: terms, protected spans, tags, phrases to avoid, no loops."""
