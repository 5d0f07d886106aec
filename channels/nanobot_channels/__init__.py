"""nanobot's own channels. Each module is one platform and knows only nanobot's vocabulary."""
