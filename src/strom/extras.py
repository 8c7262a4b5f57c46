"""Which extra of the installation brings a package that a verb, or a part of it, needs and that is not there.

The core is what a bridge runs on; the extras are declared in `pyproject.toml`, and a test holds this table against it.
"""

from importlib.util import find_spec

# By the name under which the package is imported; of several extras that have it, the smallest.
EXTRAS = {
    "cryptography": "poll",
    "delta": "pipeline",
    "dsmr_parser": "dialects",
    "fastapi": "serve",
    "httptools": "poll",
    "orjson": "gateway",
    "pandas": "pipeline",
    "psycopg": "postgres",
    "pyspark": "pipeline",
    "starlette": "serve",
    "sunspec2": "poll",
    "uvicorn": "serve",
    "uvloop": "poll",
}


def is_installed(package: str) -> bool:
    """Without importing it, which takes time and memory."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def sentence(module: str | None, what: str = "This") -> str | None:
    """What to do about a module that cannot be imported and that this needs; None if no extra would help."""
    package = (module or "").partition(".")[0]
    extra = EXTRAS.get(package)
    if extra is None:
        return None
    return f"{what} needs {package}, which is not installed here: pip install 'strom[{extra}]' brings it."
