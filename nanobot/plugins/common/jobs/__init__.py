"""Jobs: what the plugins agree on that have them done."""
