"""Promised import paths of the library, which is in `nanobot.plugins.library`."""
