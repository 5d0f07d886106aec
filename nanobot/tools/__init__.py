"""What the model can do in the world."""
