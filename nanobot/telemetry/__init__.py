"""The ids of traces."""
