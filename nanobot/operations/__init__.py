"""What a person or a program may do besides talking: one list, behind every face of nanobot."""
