"""Web Push: what waits for a person is shown on their phone, while the page is closed."""
