"""Finding what was said in conversations."""
