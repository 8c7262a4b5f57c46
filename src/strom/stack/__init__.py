"""The embedded stack: how Kafka, Mosquitto, Postgres and Strom's own parts start, run and stop."""
