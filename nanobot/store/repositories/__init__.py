"""Table families beside the journal: what people and features read and keep, each with its own SQL
over the same store. Nothing a run's correctness hangs on is in here."""
