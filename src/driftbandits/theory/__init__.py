"""The mathematics of the paper, made computable: gaps, bounds, feasibility, the lower bound."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, {"bounds", "feasibility", "gaps", "lower"})
