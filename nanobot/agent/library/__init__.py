"""The agent as a library offers it to programs that have a bus of their own."""
