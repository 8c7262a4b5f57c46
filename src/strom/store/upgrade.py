"""What rows of an older Strom lack for this one to go on with them; part of the transaction of `ensure_schema`."""

import logging

import psycopg

log = logging.getLogger(__name__)


def settle_what_is_there(connection: psycopg.Connection) -> None:
    """Tables that were filled before there were passes over the lake say nothing of what is settled.

    All that their meters have sent is taken for settled. So what the first pass reads of it counts as late: it is made anew
    from the lake, not added a second time.
    """
    found = connection.execute(
        "INSERT INTO settled_meters (meter, newest) SELECT meter, newest FROM meter_states "
        "WHERE NOT EXISTS (SELECT FROM settled_meters) AND NOT EXISTS (SELECT FROM lake_positions)"
    ).rowcount
    if found:
        log.warning(
            "the tables of %s meters are of an older Strom: the first pass makes what the lake holds of them anew, which "
            "is done once and may take a while",
            f"{found:,}",
        )
