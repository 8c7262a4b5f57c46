"""The Postgres tables, the only place that imports the driver: schema, writes, reads."""
