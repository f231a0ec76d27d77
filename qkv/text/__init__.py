"""Tokenizers, and the splitting of long text into segments."""
