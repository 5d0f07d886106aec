"""Triggers: everything except the clock that makes the assistant act without a message. A trigger
only publishes prompts.
"""
