"""Memory: facts about a person or a group that outlive one conversation."""
