"""Where programs run that nobody here wrote: walls around commands and MCP servers."""
