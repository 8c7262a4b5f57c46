"""The embedded Postgres: a cluster under the home folder, on loopback, for the user and database `strom`."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit, urlunsplit

from strom.errors import StromError
from strom.stack.owner import as_user, give
from strom.stack.part import NotReadyError, Part
from strom.stack.processes import await_end, command_of, working_in
from strom.stack.programs import find_postgres, postgres_version

HOST = "127.0.0.1"
NAME = "strom"
ORPHAN_SECONDS = 10.0
OPTIONS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",  # its path would have to be short and open to its user
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_locks_per_transaction": "256",  # dropping a set of tables locks all their months
    "log_min_messages": "warning",
    "logging_collector": "off",
}


class Postgres(Part):
    name: str = "postgres"
    label: str = "Postgres"
    user: ClassVar[str | None] = "postgres"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # 'fast': ends sessions, writes a checkpoint
    death_signal: ClassVar[signal.Signals] = signal.SIGQUIT  # 'immediate': takes its own children along

    @property
    def address(self) -> str:
        return without_password(self.settings.postgres_url)

    @property
    def external(self) -> bool:
        return self.settings.postgres.url is not None

    @property
    def ports(self) -> tuple[tuple[str, int, str], ...]:
        return ((HOST, self.settings.postgres.port, "postgres.port"),)

    @property
    def data(self) -> Path:
        return self.home / "postgres"

    def check(self) -> None:
        programs = self._programs()
        super().check()
        wrote, here = self._data_version(), postgres_version(programs)
        if wrote is not None and wrote != here:
            raise StromError(
                f"{self.data} was written by Postgres {wrote}, but version {here} is installed: install "
                f"postgresql-{wrote}, or choose another home (STROM_HOME or --home)."
            )

    def prepare(self) -> None:
        super().prepare()
        if self._data_version() is None:
            self._create_cluster()
        self._drop_stale_pid()

    def command(self) -> list[str]:
        options = OPTIONS | {"port": str(self.settings.postgres.port)}
        flags = [flag for name, value in options.items() for flag in ("-c", f"{name}={value}")]
        return [str(self._programs() / "postgres"), "-D", str(self.data), *flags]

    def probe(self, pid: int | None) -> None:
        from strom.store.schema import connect

        try:
            with connect(self.settings.postgres_url) as connection:
                connection.execute("SELECT 1")
        except StromError as error:
            raise NotReadyError(str(error)) from error

    def settle(self) -> None:
        from strom.store.schema import ensure_schema

        ensure_schema(self.settings.postgres_url)

    def _programs(self) -> Path:
        return find_postgres(self._data_version())

    def _data_version(self) -> str | None:
        marker = self.data / "PG_VERSION"
        return marker.read_text(encoding="ascii").strip() if marker.exists() else None

    def _drop_stale_pid(self) -> None:
        """After a crash the pid in it may be another program's, or of a process that is dead but not yet buried.

        Postgres would refuse to start for either; only one that serves this very folder is a reason to refuse.
        """
        marker = self.data / "postmaster.pid"
        if marker.exists():
            pid = int(marker.read_text(encoding="ascii").split()[0])
            if str(self.data) not in command_of(pid):
                self._end_orphans()
                marker.unlink()

    def _end_orphans(self) -> None:
        """Sessions of a server that was killed go on with what they were at, and would write beside the new one.

        Postgres guards against that by the very file that is dropped next. What they have not committed is undone.
        """
        for pid in working_in(self.data.resolve()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            if not await_end(pid, ORPHAN_SECONDS):
                raise StromError(
                    f"A session of a former Postgres (pid {pid}) does not end: end it, then start again."
                )

    def _create_cluster(self) -> None:
        """In a folder beside, renamed when complete: an interruption leaves nothing half-made behind."""
        fresh = self.data.with_name("postgres.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        give(fresh, self.user)
        programs = self._programs()
        trust = ["--auth=trust", f"--username={NAME}", "--encoding=UTF8", "--locale=C"]
        self._run([str(programs / "initdb"), "-D", str(fresh), *trust], fresh)
        alone = [str(programs / "postgres"), "--single", "-D", str(fresh), "postgres"]
        self._run(alone, fresh, f"CREATE DATABASE {NAME};\n")
        if self.data.exists():
            self.data.rmdir()  # an empty one; anything else is not ours to replace
        fresh.rename(self.data)

    def _run(self, command: list[str], folder: Path, told: str = "") -> None:
        whole = [*as_user(self.user, folder), *command]
        done = subprocess.run(whole, input=told, capture_output=True, text=True, check=False, cwd="/")
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise StromError(
                f"Postgres could not prepare {self.data}: {said[-1] if said else 'no reason given'}"
            )


def without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{place}"))
