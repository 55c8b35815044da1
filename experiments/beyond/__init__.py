"""What the paper leaves open: recorded evidence of the last part of the book."""
