"""Web Push: pending approvals and answers appear on a person's phone while the page is closed."""
