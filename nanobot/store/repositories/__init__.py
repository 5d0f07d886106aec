"""Table families other than the journal: data for people and features, each with its own SQL over
the same store. The correctness of a run does not depend on anything here.
"""
