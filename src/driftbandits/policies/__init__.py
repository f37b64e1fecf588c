"""Every policy, one small file each. The list is ``__init__.pyi``: a policy is its file and one line there."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
