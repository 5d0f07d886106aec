"""Onboard."""
