"""Takes the rights to a table over to the one that takes its place."""

import psycopg
from psycopg import sql


def copy_grants(connection: psycopg.Connection, source: str, target: str) -> None:
    """Both as they are written in SQL. What the owner has needs no grant; partitions are read by way of their table."""
    grants = connection.execute(
        """
        SELECT g.privilege_type, CASE g.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(g.grantee) END
        FROM pg_class c, aclexplode(c.relacl) g WHERE c.oid = %s::regclass AND g.grantee <> c.relowner
        """,
        (source,),
    ).fetchall()
    for privilege, grantee in grants:
        to = sql.SQL("PUBLIC") if grantee is None else sql.Identifier(grantee)
        connection.execute(f"GRANT {privilege} ON {target} TO ".encode() + to.as_bytes(connection))
