"""The policy: which calls of tools are allowed, and which a person has to approve."""
