"""What several policies share: windows, hulls, posteriors, indices, random draws in a State."""
