"""The decks' mathematics: attention, masks, positions, the block, the cache, the loss. It knows no model."""
