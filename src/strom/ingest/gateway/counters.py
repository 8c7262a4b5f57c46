"""What a gateway has done since it started, for `/metrics` and tests."""

from dataclasses import dataclass

from strom.metrics import counter, gauge


@dataclass
class Counters:
    requests: int = counter("Requests answered.")
    refused: int = counter("Requests answered with a status from 400 to 499 other than 429.")
    overloaded: int = counter("Requests answered with 429.")
    unavailable: int = counter("Requests answered with 503.")
    failed: int = counter("Requests answered with 500: mistakes of the gateway itself.")
    written: int = counter("Messages that Kafka has confirmed.")
    not_written: int = counter("Messages sent to Kafka that it has refused or not confirmed in time.")
    read: int = counter("Records given to readers.")
    passwords_checked: int = counter("Passwords checked against their hash.")
    in_flight: int = gauge("Messages of the gateway's own process that Kafka has not confirmed yet.")
    held_bytes: int = gauge("Bytes of requests that are read or under way.")
    writers: int = gauge("Processes that write large bodies for the gateway.")
    consumers: int = gauge("Consumers that are open.")
    consumers_given_up: int = counter("Consumers that did not close in time and were given up.")
    calls_given_up: int = gauge("Calls of Kafka's client that were given up and have not come back.")
    background_failures: int = counter("How often a background task has failed.")
    background_failing: int = gauge(
        "Background tasks that have failed and not succeeded since; /health names them."
    )
    kafka_connected: int = gauge("1 while Kafka answers.")
