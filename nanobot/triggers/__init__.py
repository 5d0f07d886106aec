"""What makes the assistant act by itself, besides the clock: each only publishes prompts."""
