"""How every process of Strom writes its log."""

import logging


def log_to_stderr() -> None:
    """One line an event, with the time and the part that speaks."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
