"""The seam for plugins: their definition, how they are found, and which objects they get."""
