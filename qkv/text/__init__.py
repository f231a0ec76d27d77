"""Text to pieces to ids and back, and long text to sentences."""
