"""What products of several families share when they run: number formats and predictions."""
