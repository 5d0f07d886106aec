"""What commands share: their output, and how they perform an operation."""
