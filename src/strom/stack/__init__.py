"""The embedded stack: how Kafka, Mosquitto, Postgres and Strom's own parts are started, watched and stopped."""
