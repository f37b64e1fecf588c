"""The mathematics of the paper, made computable: gaps, bounds, feasibility."""
