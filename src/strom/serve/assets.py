"""The files a browser asks for: ours from the package, and two libraries out of the jars of the set-up.

Everything has a version in its path, so browsers may keep it for good. Nothing comes from another host.
"""

import gzip
import hashlib
import mimetypes
import sys
import zipfile
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from strom.errors import StromError

FOREVER = "public, max-age=31536000, immutable"
LIBRARIES = ("chart.js", "swagger-ui")
_COMPRESSED = ("text/", "application/json", "image/svg+xml")


@dataclass(frozen=True)
class Asset:
    """One file with what HTTP wants to know of it."""

    name: str
    body: bytes

    @cached_property
    def media_type(self) -> str:
        guessed, _ = mimetypes.guess_type(self.name)
        return guessed or "application/octet-stream"

    @cached_property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:20]}"'

    @cached_property
    def squeezed(self) -> bytes | None:
        return gzip.compress(self.body, mtime=0) if self.media_type.startswith(_COMPRESSED) else None

    def response(self, request: Request) -> Response:
        headers = {"ETag": self.etag, "Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        if self.squeezed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.squeezed, headers=headers, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)


class Library:
    """A web library inside a jar: `META-INF/resources/webjars/<name>/<version>/…`."""

    def __init__(self, folder: Path, name: str) -> None:
        jars = sorted(folder.glob(f"{name}-[0-9]*.jar"))
        if not jars:
            raise StromError(f"{name} is missing in {folder}; run `make setup` to fetch it.")
        try:
            self._jar = zipfile.ZipFile(jars[-1])
        except zipfile.BadZipFile:
            raise StromError(f"{jars[-1]} is damaged; delete it and run `make setup`.") from None
        self.name = name
        self.version = jars[-1].stem.removeprefix(f"{name}-")
        self._root = f"META-INF/resources/webjars/{name}/{self.version}/"
        self._cache: dict[str, Asset] = {}

    def find(self, path: str) -> Asset | None:
        if path not in self._cache:
            try:
                self._cache[path] = Asset(path, self._jar.read(self._root + path))
            except KeyError:
                return None
        return self._cache[path]


class Assets:
    """All of them: `own` files under one version, each library under its own."""

    def __init__(self, library_folder: Path | None = None) -> None:
        folder = library_folder or Path(sys.prefix) / "share" / "strom" / "page"
        self.libraries = {name: Library(folder, name) for name in LIBRARIES}
        self._own = {
            name: Asset(name, entry.read_bytes()) for name, entry in _tree(files("strom.serve") / "static")
        }
        together = hashlib.sha256("".join(asset.etag for asset in self._own.values()).encode())
        self.version = together.hexdigest()[:12]

    def own(self, name: str) -> Asset | None:
        return self._own.get(name)

    def text(self, name: str) -> str:
        """One of our HTML files, with the addresses of everything it needs filled in."""
        text = self._own[name].body.decode()
        text = text.replace("{{own}}", f"/static/{self.version}")
        for library in self.libraries.values():
            text = text.replace("{{" + library.name + "}}", f"/library/{library.name}/{library.version}")
        return text


def _tree(folder: Traversable, prefix: str = "") -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            found += _tree(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry))
    return found
