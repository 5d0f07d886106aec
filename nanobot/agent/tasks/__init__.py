"""Documented import paths of background runs, which the plugin `tasks` does."""
