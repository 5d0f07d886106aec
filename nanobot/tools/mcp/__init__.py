"""Model Context Protocol servers: their tools, resources and prompts for the model.

Only `link`, `stdio`, `http` and `content` import the protocol's own package, which takes most of a
second, so they are imported when a server is configured.
"""
