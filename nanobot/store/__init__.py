"""The one relational store: everything durable, behind the Journal port."""
