"""Code that the channels here share. It may change without notice."""
