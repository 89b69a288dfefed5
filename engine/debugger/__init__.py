"""Looking back at a run: what was known at any of its records, when to stop, and what might have been."""
