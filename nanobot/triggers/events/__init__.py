"""What happens on this machine becomes a prompt: sensors read, decide and word it; one trigger runs
them and tells no more than is wanted."""
