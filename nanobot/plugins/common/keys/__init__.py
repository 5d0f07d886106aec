"""Keys of the configuration that several plugins read or write."""
