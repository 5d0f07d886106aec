"""Language models, behind one port."""
