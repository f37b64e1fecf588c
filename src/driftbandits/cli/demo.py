"""The command demo: the service, with simulated visitors that ask and tell."""

from __future__ import annotations

import os
import sys

from driftbandits.cli.options import Port


def demo(*, port: Port = 8000, browser: bool = True) -> None:
    """Show live decisions: a service on a new database, simulated visitors, and the dashboard.

    Three experiments run at about 60 Decisions a second each; means drift, rewards come late or never. Ctrl-C ends
    everything and leaves nothing behind.

    Parameters
    ----------
    port
        The port of the dashboard. Default: 8000. If it is taken, or 0, any that is free.
    browser
        Open the dashboard in the browser, if there is a display.
    """
    from driftbandits._common.extras import check_installed, needs

    check_installed("client,serve", "the demo", "httpx", "sqlalchemy", "uvicorn")
    wanted, port = port, _free(port)
    url = f"http://127.0.0.1:{port}"
    taken = f" (port {wanted} is taken)" if wanted not in (0, port) else ""
    _say(f"starting a service at {url}{taken}, with a new database in a temporary folder")

    import tempfile
    import threading
    import webbrowser
    from pathlib import Path

    with needs("client,serve", "the demo"):
        from driftbandits.cli.visitors import run_visitors
        from driftbandits.service.core.run import serve
        from driftbandits.service.core.settings import Settings

    stop = threading.Event()

    def announce() -> None:
        _say(f"the dashboard is at {url}/#checkout-button   (Ctrl-C ends the demo)")
        if browser and _has_display():
            webbrowser.open(f"{url}/#checkout-button")

    with tempfile.TemporaryDirectory(prefix="driftbandits-demo-") as folder:
        visitors = threading.Thread(target=run_visitors, args=(url, stop, _say, announce), name="visitors")
        visitors.start()
        try:
            serve(Settings(store=f"sqlite:///{Path(folder) / 'demo.db'}", port=port, auth=False, log_level="warning"))
        except KeyboardInterrupt:
            pass  # the way to end it
        finally:
            stop.set()
            visitors.join()
    _say("the demo is over")


def _say(words: str) -> None:
    print(words, flush=True)


def _free(port: int) -> int:
    """This port, or any other when it is taken."""
    import socket

    for wanted in (port, 0):
        try:
            with socket.create_server(("127.0.0.1", wanted)) as found:
                return int(found.getsockname()[1])
        except OSError:
            continue
    return port


def _has_display() -> bool:
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
