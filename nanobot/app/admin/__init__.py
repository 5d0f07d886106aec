"""Sets up a home and changes its set-up: a model, channels, the configuration."""
