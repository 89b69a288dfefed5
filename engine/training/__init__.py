"""Makes drafters for a target: small models that learn from what the target itself answers."""
