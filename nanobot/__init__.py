"""nanobot: a self-hosted assistant that lives where its people already talk."""

__version__ = "0.1.0"
