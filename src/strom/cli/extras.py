"""Which extra of the installation brings a package that a verb needs and that is not there.

The core is what a bridge runs on; the extras are declared in `pyproject.toml`, and a test holds this table against it.
"""

# By the name under which the package is imported; of several extras that have it, the smallest.
EXTRAS = {
    "cryptography": "poll",
    "delta": "pipeline",
    "dsmr_parser": "dialects",
    "fastapi": "serve",
    "httptools": "poll",
    "orjson": "gateway",
    "psycopg": "postgres",
    "pyspark": "pipeline",
    "starlette": "serve",
    "sunspec2": "poll",
    "uvicorn": "serve",
    "uvloop": "poll",
}


def sentence(module: str | None) -> str | None:
    """What to do about a module that cannot be imported; None if no extra would help."""
    package = (module or "").partition(".")[0]
    extra = EXTRAS.get(package)
    if extra is None:
        return None
    return f"This needs {package}, which is not installed here: pip install 'strom[{extra}]' brings it."
