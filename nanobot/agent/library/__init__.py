"""The library: an AgentLoop over a bus, and runs requested by an input."""
