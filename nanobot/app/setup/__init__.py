"""Setting a home up, and changing how it is set up: a model, channels, the configuration."""
