"""What programs use: the AgentLoop over a bus of their own, and runs asked for by an input."""
