"""What knows nothing of bandits: checks, files, threads, intervals and fits, plotting, tables."""
