"""The processes that share a store: who lives, what they tell each other, and who does what."""
