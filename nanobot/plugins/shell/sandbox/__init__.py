"""The sandbox for programs that nanobot did not ship: isolates commands and servers of tools."""
