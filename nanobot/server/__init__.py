"""The HTTP server: a small server, its guards, and the routes that composition passes in."""
