"""The seam that plugins hang on: what one is, how it is found, and what it gets."""
