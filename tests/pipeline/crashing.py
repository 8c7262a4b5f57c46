"""Stands for a kill in the middle of a batch, to be put in the place of what would have come next."""


class CrashError(Exception):
    """Nothing after it happens."""


def crash(*_: object, **__: object) -> None:
    raise CrashError
