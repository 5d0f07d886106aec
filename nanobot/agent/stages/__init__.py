"""The stages of a run besides acting: what is decided before, recalled, and remembered."""
