"""Measuring: samplers that say when to read, and pure parsers that understand what was read."""
