"""Policies in a world: ``simulate``, one run step by step, what policies detect, results as files."""
