"""The relational store: all durable state, behind the Journal port."""
