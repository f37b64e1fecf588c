"""What the theory says, set against simulated runs."""
