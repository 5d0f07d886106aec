"""The bus between channels and the agent."""
