"""Background runs: what they are asked for by, what they do, and how they are kept."""
