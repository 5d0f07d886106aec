"""What is removed from the store, or moved out of it, over SQL."""
