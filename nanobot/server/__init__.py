"""What is served over HTTP: a small server, its guards, and routes that composition gives it."""
