"""The control socket, as commands and terminals use it: its client, and the lines of both ends."""
