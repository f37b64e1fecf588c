"""Statements about the package: the league, the bench, a page for each policy. The paper's are in ``reproduction``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, {"league"})
