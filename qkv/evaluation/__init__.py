"""Scores that others can compare with: sacreBLEU's, with their signatures."""
