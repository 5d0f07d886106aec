"""What travels between channels and the agent."""
