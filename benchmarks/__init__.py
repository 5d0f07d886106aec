"""What nanobot costs, measured at the wire and beside the smallest gateway there could be.

`python -m benchmarks` runs everything; docs/benchmarks.md says what each row means.
"""
