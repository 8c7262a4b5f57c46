"""What the poller has done since it started, for log lines, metrics and tests: in all, and for each adapter."""

from dataclasses import asdict, dataclass

from strom.metrics import counter, gauge


@dataclass
class Carried:
    """On the way to Kafka, of all adapters together."""

    adapters: int = gauge("Adapters that are asked.")
    taken: int = counter("New pushes taken from adapters.")
    forwarded: int = counter("Pushes confirmed by Kafka.")
    refused: int = counter("Pushes that Kafka will never take; kept as files.")
    held: int = gauge("Pushes in memory that Kafka has not confirmed.")
    away: int = counter("Times that Kafka did not confirm for a while.")
    full: int = counter("Times that asking stopped because no more pushes could be held.")
    background_restarts: int = counter("Times that work in the background failed and was started again.")

    def count_restart(self) -> None:
        self.background_restarts += 1

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())


@dataclass
class Asked:
    """Of one adapter."""

    polls: int = counter("Times that the adapter was asked.")
    pushes: int = counter("New pushes that it gave.")
    repeats: int = counter("Answers with a push that was seen before.")
    missed: int = counter("Times of its interval that passed while it had not answered yet.")
    status_failures: int = counter("Times that its status could not be read.")
    up: int = gauge("1 if the last time succeeded, else 0.")
    last_success_seconds: float = gauge("When it last succeeded, in epoch seconds; 0 is never.")
    answer_seconds: float = gauge("How long the last answer took.")
    certificate_expires_seconds: int = gauge(
        "End of validity of its certificate, in epoch seconds; 0 is unknown."
    )


@dataclass
class Failed:
    """Of one adapter, by the label `kind`."""

    failures: int = counter("Times that asking failed, by kind.")


@dataclass
class Told:
    """What one adapter tells about itself."""

    rssi_dbm: float = gauge("How well it receives the wireless network.")
    valid_packages: float = gauge("Packages from the meter that it could read, since its start.")
    invalid_packages: float = gauge("Packages from the meter that it could not read, since its start.")


@dataclass
class Info:
    """What it is, in the labels."""

    info: int = gauge("Always 1; the labels tell firmware, state and meter.")
