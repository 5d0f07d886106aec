"""Memory: what is known of a person or a group beyond their conversation."""
