"""The gateway as an ASGI application: finds who answers a request and turns every problem into an answer.

Plain ASGI without a framework: one message is so little work that what a framework does around it would be most of it.
"""

import logging
from http import HTTPStatus

from strom.ingest.gateway.answers import ClientGone, Problem
from strom.ingest.gateway.auth import Gatekeeper
from strom.ingest.gateway.call import Call, Receive, Scope
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.intake import Intake
from strom.ingest.gateway.routes import ANY_USER, ANYBODY, Route, Router
from strom.ingest.gateway.turned_away import TurnedAway
from strom.serving import Send

LOG = logging.getLogger("strom.gateway")


class App:
    def __init__(self, router: Router, gatekeeper: Gatekeeper, intake: Intake, counters: Counters) -> None:
        self._router = router
        self._gatekeeper = gatekeeper
        self._intake = intake
        self._counters = counters
        self._turned_away = TurnedAway()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the server asks for HTTP alone
            raise RuntimeError(f"{scope['type']} is not for the gateway")
        try:
            segments = scope["raw_path"][1:].split(b"/")
            route = self._route(segments, scope["method"])
            call = Call(scope, receive, segments, self._intake)
            try:
                if route.right is not ANYBODY:
                    header = call.headers.get(b"authorization")
                    call.user = self._gatekeeper.known(header) or await self._gatekeeper.admit(header)
                    if route.right != ANY_USER and not call.user.may(route.right):
                        raise _not_allowed(call, route)
                answer = await route.handler(call)
            finally:
                call.close()
        except ClientGone:
            return
        except Problem as problem:
            answer = problem.answer()
        except Exception:
            LOG.exception("the gateway failed to answer %s %s", scope["method"], scope["path"])
            answer = Problem(500, "The gateway failed to answer this; its log tells why.").answer()
        self._counters.requests += 1
        if answer.status >= HTTPStatus.BAD_REQUEST:
            self._turned_away.note(answer)
            self._count_problem(answer.status)
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _route(self, segments: list[bytes], method: str) -> Route:
        route = self._router.find(segments)
        if route is None:
            raise Problem(404, "There is nothing at this address; /openapi.json lists what there is.")
        if method not in route.methods:
            allowed = ", ".join(route.methods)
            raise Problem(
                405, f"{route.path} takes {allowed}, not {method}.", headers=[(b"allow", allowed.encode())]
            )
        return route

    def _count_problem(self, status: int) -> None:
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            self._counters.overloaded += 1
        elif status == HTTPStatus.SERVICE_UNAVAILABLE:
            self._counters.unavailable += 1
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._counters.failed += 1
        else:
            self._counters.refused += 1


def _not_allowed(call: Call, route: Route) -> Problem:
    return Problem(
        403,
        f"{call.user.name} may not {route.right}: the user's rights are {call.user.rights} "
        "(`strom users add NAME --replace --rights full` changes them).",
    )
