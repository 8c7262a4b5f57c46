"""By which certificate an adapter is known: the one that is pinned, or any that an authority has signed.

A pinned certificate is compared as it is, before a byte of a request is sent: the token must not go to a stranger. Its
dates are told but do not matter, see docs/decisions/a-pinned-certificate-may-expire.md.
"""

import hashlib
import ssl
from functools import cache
from pathlib import Path

from cryptography import x509

from strom.errors import StromError
from strom.ingest.poll.trouble import Kind, Trouble
from strom.settings import AdapterSettings

UNKNOWN_DATE = 0


def context_for(adapter: AdapterSettings) -> ssl.SSLContext:
    """How TLS is to check; without an authority it checks nothing, and `known` does."""
    return _checking(adapter.ca_file) if adapter.ca_file is not None else _unchecked()


def known(adapter: AdapterSettings, entry: str, certificate: bytes) -> None:
    """Trouble unless this is the certificate of the adapter; nothing may be sent before."""
    if adapter.ca_file is not None:
        return  # TLS has checked it
    seen = hashlib.sha256(certificate).digest()
    line = f'fingerprint = "{shown(seen)}" under [adapters.{_quoted(entry)}] in strom.toml'
    if adapter.pinned is None:
        raise Trouble(
            Kind.CERTIFICATE,
            f"its certificate is not known yet and nothing was sent; if it is the adapter's, put {line}",
        )
    if seen != adapter.pinned:
        raise Trouble(
            Kind.CERTIFICATE,
            f"its certificate is not the pinned one and nothing was sent; if the adapter was reset or replaced, put {line}",
        )


def expires(certificate: bytes) -> int:
    """The end of its validity in epoch seconds; UNKNOWN_DATE where it cannot be read."""
    try:
        return int(x509.load_der_x509_certificate(certificate).not_valid_after_utc.timestamp())
    except (ValueError, OverflowError):
        return UNKNOWN_DATE


def shown(fingerprint: bytes) -> str:
    return fingerprint.hex(":").upper()


def refused(error: ssl.SSLError) -> Trouble:
    """For what TLS says about the other side."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Trouble(Kind.CERTIFICATE, f"its certificate is refused: {error.verify_message.rstrip('.')}")
    return Trouble(Kind.GARBAGE, f"does not speak TLS as it should: {error.reason or error}")


@cache
def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@cache
def _checking(authority: Path) -> ssl.SSLContext:
    """One for all adapters of an authority: reading it takes longer than a request."""
    try:
        return ssl.create_default_context(cafile=str(authority))
    except OSError as error:
        raise StromError(
            f"The certificate authority {authority} cannot be read ({error.strerror or error}); "
            "correct ca_file in [adapters]."
        ) from None


def _quoted(entry: str) -> str:
    """As TOML writes a name with more than letters in it."""
    return entry if entry.replace("-", "").replace("_", "").isalnum() and entry.isascii() else f'"{entry}"'
