"""The engine of SpecScope: decodes speculatively and plainly, and records every event. Knows no screen."""

__version__ = "0.1.0"
