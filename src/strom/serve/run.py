"""Runs the page's server until it is told to stop; open pages do not hold it up."""

import asyncio
from collections.abc import Callable

from strom import serving
from strom.serve.app import API, make_app
from strom.serve.assets import Assets
from strom.serve.service import Service
from strom.settings import Settings

_GRACE_SECONDS = 3


def serve(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called when a real request has been answered."""
    page = settings.page
    service, assets = Service(settings), Assets()
    site = serving.Site("The page", page.host, page.port, "page.port", f"{API}/health")
    with serving.listen(site) as listener:
        asyncio.run(
            serving.run(
                make_app(service, assets),
                site,
                listener,
                on_ready,
                on_stop=service.hub.close,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
