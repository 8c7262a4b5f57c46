"""What the page has done since it started, for `/metrics`."""

from dataclasses import dataclass

from strom.metrics import counter, gauge


@dataclass
class Counters:
    readings: int = counter("Readings taken, each once.")
    foreign_records: int = counter("Records and rows that are not readings; they are passed over.")
    restarts: int = counter("Times that something in the background failed and was started anew.")
    meters: int = gauge("Meters known.")
    open_alerts: int = gauge("Alerts that last.")
    pages: int = gauge("Open pages.")
    kafka_connected: int = gauge("1 while Kafka answers.")
    postgres_connected: int = gauge("1 while Postgres answers.")
