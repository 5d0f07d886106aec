"""nanobot's own channels. Each package is one platform and depends only on nanobot's types."""
