"""The stage `watch`: compares the alerts that should be there with those that are, and tells what changed.

Each kind finds its own alerts and names the stored ones that it has judged anew; a kind more is one entry more.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from strom.domain.alerts import COUNTER_BACK, JUMP, Alert, counter_back, jump
from strom.domain.reading import time_text
from strom.pipeline.limits import Limits
from strom.pipeline.outbox import Outbox
from strom.pipeline.series import Update
from strom.store.alert_tables import Scope, delete_alerts, load_alerts, save_alerts
from strom.store.writes import Work
from strom.streams.topics import ALERTS

Found = tuple[Sequence[Scope], Sequence[Alert]]


def write_alerts(work: Work, outbox: Outbox, found: Iterable[Found]) -> None:
    """Store and tell what opened, closed or changed; what a late reading has disproved is withdrawn."""
    kinds = list(found)
    wanted = {alert.id: alert for _, alerts in kinds for alert in alerts}
    scopes = [scope for each, _ in kinds for scope in each]
    stored = {alert.id: alert for alert in load_alerts(work, scopes)} if scopes else {}
    changed = [alert for alert in wanted.values() if stored.get(alert.id) != alert]
    void = [alert for alert in stored.values() if alert.id not in wanted]
    save_alerts(work, changed)
    delete_alerts(work, void)
    tell(outbox, changed, void)


def tell(outbox: Outbox, changed: Sequence[Alert], void: Sequence[Alert]) -> None:
    for alert in changed:
        outbox.put(ALERTS, alert.meter, as_json(alert))
    for alert in void:
        outbox.put(
            ALERTS, alert.meter, as_json(alert) | {"ended": time_text(alert.started), "withdrawn": True}
        )


def counter_falls(updates: Sequence[Update], limits: Limits) -> Found:
    """A counter that fell by more than noise."""
    judged = [update for update in updates if _may_tell(update) or update.chain.falls]
    scopes = [
        Scope(update.meter, COUNTER_BACK, update.key[1].value, update.falls_after + 1) for update in judged
    ]
    alerts = [
        counter_back(
            update.meter,
            update.key[1].value,
            fall.at,
            fall.mwh,
            update.chain.rules.noise_mwh,
            limits.timezone,
        )
        for update in judged
        for fall in update.chain.falls
    ]
    return scopes, alerts


def counter_jumps(updates: Sequence[Update], limits: Limits) -> Found:
    """A counter that grew by more than the connection can carry."""
    judged = [update for update in updates if _may_tell(update) or update.chain.jumps]
    scopes = [Scope(update.meter, JUMP, update.key[1].value, update.jumps_after + 1) for update in judged]
    alerts = [
        jump(update.meter, update.key[1].value, each.at, each.mwh, each.most_mwh, limits.timezone)
        for update in judged
        for each in update.chain.jumps
    ]
    return scopes, alerts


def _may_tell(update: Update) -> bool:
    """Whether alerts that are stored may be void; within a bound only what is sound is revised."""
    return update.revised and update.until is None


def as_json(alert: Alert) -> dict[str, Any]:
    """An alert as the topic carries it; an open one has no end."""
    value: dict[str, Any] = {"v": 1, "id": alert.id, "meter": alert.meter, "kind": alert.kind}
    if alert.part:
        value["part"] = alert.part
    value |= {"severe": alert.severe, "started": time_text(alert.started)}
    if alert.ended is not None:
        value["ended"] = time_text(alert.ended)
    if alert.value is not None:
        value["value"] = alert.value
    return value | {"threshold": alert.threshold, "text": alert.text}
