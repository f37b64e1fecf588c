"""The service without HTTP: experiments in memory, group commit, settings, metrics, start and stop."""
