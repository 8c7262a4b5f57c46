"""Puts API and page together into one application, with errors as sentences and strict headers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from strom import __version__
from strom.errors import StromError
from strom.serve.api_live import live_routes, meter_route
from strom.serve.api_tables import table_routes
from strom.serve.assets import Assets
from strom.serve.pages import page_routes
from strom.serve.service import Service

API = "/api/v1"

# The page asks nobody but this server, and nobody may frame it.
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def make_app(service: Service, assets: Assets) -> FastAPI:
    """The application; the service follows its sources as long as it is up."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        running = asyncio.create_task(service.run())
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    app = FastAPI(
        title="Strom",
        version=__version__,
        summary="Smart meters live: power now, quarter-hours and alerts.",
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        redirect_slashes=False,
        lifespan=lifespan,
    )
    for router in (live_routes(service), table_routes(service), meter_route(service)):
        app.include_router(router, prefix=API)
    app.include_router(page_routes(service, assets))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(StromError, _away)
    app.add_exception_handler(Exception, _bug)
    app.add_middleware(SecureHeaders)
    return app


class SecureHeaders:
    """Adds the security headers to every response; plain ASGI, so that streams pass through untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _problem(sentence: str, status: int) -> Response:
    return JSONResponse({"error": sentence, "status": status}, status_code=status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this type only
    if error.status_code == 404 and error.detail == "Not Found":
        return _problem(f"There is nothing at {request.url.path}; /docs lists what there is.", 404)
    return _problem(str(error.detail), error.status_code)


async def _bad_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this type only
    first = error.errors()[0]
    return _problem(f"{first['loc'][-1]} is {first.get('input')!r}: {first['msg']}; correct it.", 422)


async def _away(_request: Request, error: Exception) -> Response:
    return _problem(str(error), 503)


async def _bug(_request: Request, _error: Exception) -> Response:
    return _problem("Strom failed to answer this; its log tells why.", 500)
