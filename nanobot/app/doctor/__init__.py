"""What does not work in a home, looked at from all sides."""
