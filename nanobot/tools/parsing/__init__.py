"""Parsing of untrusted files in a process without secrets, by functions of plugins."""
