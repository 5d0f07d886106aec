"""Reservations, settlements and totals of model calls, over SQL."""
