"""What a package can do wrong."""
