"""The sandbox for programs that nanobot did not ship: isolates commands and MCP servers."""
