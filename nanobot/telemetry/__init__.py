"""Sends traces and metrics to a collector: OTLP over HTTP."""
