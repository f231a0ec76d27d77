"""The decks' mathematics: attention, masks, positions, the block, the cache, the loss. Independent of any model."""
