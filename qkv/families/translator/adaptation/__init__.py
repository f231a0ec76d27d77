"""Adaptation: fine-tune a translator on the translations of a project without losing the rest of the language."""
