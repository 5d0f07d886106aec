"""The operations that people and programs can call: one list, behind every face of nanobot."""
