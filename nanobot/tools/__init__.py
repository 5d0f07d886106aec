"""Tools: how the model acts on the world."""
