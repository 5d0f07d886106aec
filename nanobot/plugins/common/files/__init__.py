"""Files of this machine and of a workspace, and the process that reads untrusted ones."""
