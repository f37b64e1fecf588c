"""The paper "On Slowly-varying Non-stationary Bandits", run again and judged: ``python -m reproduction``.

Beside the library and not part of it: everything here uses public names of ``driftbandits``. ``experiments`` holds the
paper's instances and policies, ``studies`` what is measured, ``verdicts`` what follows from it, ``statements.toml``
what the paper says, and ``report`` the page.
"""
