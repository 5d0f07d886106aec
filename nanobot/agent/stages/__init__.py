"""Stages of a run around its main loop: triage, recall and remembering."""
