"""Which outlets the settings name, each with what it wants to hear."""

from fnmatch import fnmatchcase

from strom.domain.alerts import KINDS
from strom.domain.notices import Wishes
from strom.errors import StromError
from strom.notify.mail_folder import MailFolder
from strom.notify.mail_text import Letterhead
from strom.notify.mqtt_outlet import MqttOutlet
from strom.notify.outlet import Outlet
from strom.notify.smtp import Smtp
from strom.notify.webhook import Webhook
from strom.settings import OutletSettings, Settings


def outlets_of(settings: Settings) -> list[tuple[Outlet, Wishes]]:
    """Those that are set; what is wrong with one is told before anything is sent."""
    if settings.alerts.oldest_hours > settings.alerts.keep_days * 24:
        raise StromError(
            "alerts.oldest_hours is more than alerts.keep_days: what is forgotten could be told twice."
        )
    found: list[tuple[Outlet, Wishes]] = []
    if settings.alerts_webhook.is_set:
        found.append((Webhook(settings.alerts_webhook), _wishes(settings, "alerts_webhook")))
    if settings.alerts_mqtt.is_set:
        found.append((MqttOutlet(settings), _wishes(settings, "alerts_mqtt")))
    if settings.alerts_mail.is_set:
        found.append((_mail(settings), _wishes(settings, "alerts_mail")))
    if not found:
        raise StromError(
            "No outlet of alerts is set: set alerts_webhook.url, alerts_mqtt.topic or alerts_mail.to, "
            "as docs/outlets.md tells."
        )
    return found


def stored_name(settings: Settings, outlet: Outlet) -> str:
    """Under which the tables know the outlet."""
    return f"{settings.alerts.sender}/{outlet.name}"


def _wishes(settings: Settings, section: str) -> Wishes:
    outlet: OutletSettings = getattr(settings, section)
    kinds = _patterns(outlet.kinds)
    for pattern in kinds:
        if not any(fnmatchcase(kind, pattern) for kind in KINDS):
            raise StromError(
                f"{section}.kinds: {pattern} is no kind of alert; there are {', '.join(sorted(KINDS))}."
            )
    return Wishes(
        kinds=kinds,
        meters=_patterns(outlet.meters),
        severe_only=outlet.severe_only,
        quiet_ms=round(outlet.quiet_minutes * 60_000),
        oldest_ms=settings.alerts.oldest_hours * 3_600_000,
    )


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(pattern.strip() for pattern in text.split(",") if pattern.strip())


def _mail(settings: Settings) -> Outlet:
    mail = settings.alerts_mail
    letterhead = Letterhead(mail.sender, mail.to or "", settings.page.timezone)
    if (mail.smtp is None) == (mail.folder is None):
        raise StromError(
            "alerts_mail.to is set: set also where they go, alerts_mail.smtp or alerts_mail.folder."
        )
    return MailFolder(mail.folder, letterhead) if mail.folder is not None else Smtp(mail, letterhead)
