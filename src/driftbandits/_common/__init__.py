"""Helpers that know nothing of bandits: checks, files, threads, intervals and fits, plotting, tables."""
