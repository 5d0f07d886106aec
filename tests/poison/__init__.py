"""One bad value at a time, wherever one can be, in a gateway that serves many."""
