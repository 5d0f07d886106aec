"""nanobot's own channels. Each package is one platform and knows only nanobot's vocabulary."""
