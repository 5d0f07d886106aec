"""What plugins with routes share: routes, requests, answers, and who may ask."""
