"""Permanent operation: the gateway as a service of this machine, started at boot or at login."""
