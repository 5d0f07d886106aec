"""The tools a run may call: their schemas for the model, and one checked way to execute them."""
