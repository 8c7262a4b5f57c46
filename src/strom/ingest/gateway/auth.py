"""Who is calling, by HTTP Basic: a password costs a fifth of a second once and is then remembered for a while.

What is remembered is a keyed hash of the header, with a key that only this process has; never a password.
"""

import asyncio
import base64
import binascii
import hashlib
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from strom.ingest.gateway.answers import Problem, overloaded
from strom.ingest.gateway.counters import Counters
from strom.ingest.gateway.passwords import matches, nobodys_hash
from strom.ingest.gateway.rights import User
from strom.ingest.gateway.users import Users

REMEMBERED = 1000
REMEMBERED_SECONDS = 300.0
CHECKS_AT_ONCE = 2  # each takes a core
CHECKS_WAITING = 20
_LONGEST_HEADER = 1024
_CHALLENGE = [(b"www-authenticate", b'Basic realm="strom", charset="UTF-8"')]


class Gatekeeper:
    def __init__(self, users: Users, counters: Counters, clock: Callable[[], float] = time.monotonic) -> None:
        self._users = users
        self._counters = counters
        self._clock = clock
        self._keyed = hashlib.blake2b(digest_size=16, key=secrets.token_bytes(32))
        self._known: dict[bytes, tuple[User, float]] = {}  # the oldest first
        self._generation = users.generation
        self._checking: dict[bytes, asyncio.Task[User]] = {}
        self._nobody = nobodys_hash()
        self._threads = ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="password")

    def known(self, header: bytes | None) -> User | None:
        """Whoever was let in by this header a short while ago."""
        if header is None or self._generation != self._users.generation:
            return None
        found = self._known.get(self._digest(header))
        return found[0] if found is not None and found[1] > self._clock() else None

    async def admit(self, header: bytes | None) -> User:
        """Check the credentials; Problem 401 if they are none or wrong."""
        if self._generation != self._users.generation:
            self._known.clear()
            self._generation = self._users.generation
        if not self._users.by_name:
            raise _refused("This gateway has no users yet; add one with `strom users add NAME`")
        if header is None:
            raise _refused("This needs a user name and a password (HTTP Basic)")
        digest = self._digest(header)
        checking = self._checking.get(digest)
        if checking is None:
            checking = self._begin(digest, *_name_and_password(header))
        return await asyncio.shield(checking)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, digest: bytes, name: str, password: bytes) -> "asyncio.Task[User]":
        if len(self._checking) >= CHECKS_WAITING:
            raise overloaded("Too many callers are signing in")
        task = asyncio.create_task(self._check(digest, name, password))
        self._checking[digest] = task
        task.add_done_callback(lambda done: self._ended(digest, done))
        return task

    def _ended(self, digest: bytes, task: "asyncio.Task[User]") -> None:
        del self._checking[digest]
        if not task.cancelled():
            task.exception()  # whoever waited for it has seen it, or is gone

    async def _check(self, digest: bytes, name: str, password: bytes) -> User:
        generation = self._users.generation
        user = self._users.by_name.get(name)
        known = self._nobody if user is None else user.password
        right = await asyncio.get_running_loop().run_in_executor(self._threads, matches, password, known)
        self._counters.passwords_checked += 1
        if user is None or not right:
            raise _refused("The user name or the password is wrong")
        if generation == self._generation == self._users.generation:
            self._remember(digest, user)
        return user

    def _remember(self, digest: bytes, user: User) -> None:
        self._known.pop(digest, None)
        while len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[digest] = (user, self._clock() + REMEMBERED_SECONDS)

    def _digest(self, header: bytes) -> bytes:
        digest = self._keyed.copy()
        digest.update(header)
        return digest.digest()


def _name_and_password(header: bytes) -> tuple[str, bytes]:
    scheme, _, encoded = header.partition(b" ")
    if scheme.lower() != b"basic" or len(header) > _LONGEST_HEADER:
        raise _refused("The Authorization header must be HTTP Basic")
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        if not colon:
            raise ValueError
        return name.decode(), password
    except (binascii.Error, ValueError):
        raise _refused("The Authorization header is not base64 of name:password") from None


def _refused(sentence: str) -> Problem:
    return Problem(401, f"{sentence}.", headers=_CHALLENGE)
