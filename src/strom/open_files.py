"""How many sockets a process may hold: many systems allow 1,024 open files unless it asks for more."""

import resource

from strom.errors import StromError

SPARE_FILES = 64  # open files beside the connections


def allow_sockets(count: int) -> None:
    """Ask for room for so many connections; refused where the system's limit is below."""
    need = count + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= need or soft == resource.RLIM_INFINITY:
        return
    if hard != resource.RLIM_INFINITY and hard < need:
        raise StromError(
            f"{count} connections need {need} open files and {hard} are allowed; raise `ulimit -n`."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
