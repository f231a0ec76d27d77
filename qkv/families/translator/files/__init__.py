"""Translate files with strings of a program: only the strings change, and a report says what was done with each."""
