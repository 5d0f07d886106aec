"""Code that several built-in plugins share. It is no plugin itself."""
