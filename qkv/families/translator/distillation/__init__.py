"""Distillation: teachers translate text, and a smaller student learns from their translations."""
