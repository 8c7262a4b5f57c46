"""The connection URL as Java's driver wants it, for Spark; knows nothing of Spark."""

from psycopg.conninfo import conninfo_to_dict

from strom.errors import StromError

# Both drivers call them alike; `options` is what the server is told at the start, with the schema of the tables in it.
_ALIKE = ("user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey", "options")


def jdbc_options(url: str) -> dict[str, str]:
    """Address, user, password, TLS and schema of the URL as options of Spark's reader."""
    parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    hosts = parts.get("host", "localhost").split(",")
    ports = parts.get("port", "5432").split(",")
    if any(host.startswith("/") for host in hosts):
        raise StromError(
            "postgres.url names a Unix socket, which Spark cannot use; name the server by host and port."
        )
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = ",".join(f"{_bracketed(host)}:{port}" for host, port in zip(hosts, ports, strict=True))
    options = {
        "url": f"jdbc:postgresql://{places}/{parts.get('dbname', parts.get('user', ''))}",
        "driver": "org.postgresql.Driver",
        "ApplicationName": "strom-sql",
    }
    return options | {name: parts[name] for name in _ALIKE if name in parts}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
