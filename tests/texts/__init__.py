"""Which texts the code can show to people, and whether each has its row in `nanobot/texts/zh`."""
