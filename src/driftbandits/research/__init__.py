"""Statements about the paper and the package: reports, the league, studies, the bench, a page for each policy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, {"league", "paper", "studies"})
