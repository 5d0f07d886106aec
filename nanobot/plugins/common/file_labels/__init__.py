"""Labels of files, by path and content: the tools for files and commands read and write them."""
