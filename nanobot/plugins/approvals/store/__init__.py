"""Approvals in the store: their rows, how runs wait, and how they are decided."""
