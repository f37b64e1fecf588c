"""Policies on an instance: ``simulate``, one run step by step, what policies detect, results as files."""
