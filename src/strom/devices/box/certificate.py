"""The certificate that a box shows: self-signed, made once and kept, so that it can be known again by its fingerprint."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from strom.devices.box.keeping import keep

LIFETIME = timedelta(days=3652)  # ten years
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Certificate:
    """A file with key and certificate."""

    path: Path

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as hex digits."""
        certificate = x509.load_pem_x509_certificate(self.path.read_bytes())
        return certificate.fingerprint(hashes.SHA256()).hex()

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path)
        return context


def certificate_in(folder: Path, name: str, host: str, *, expired: bool = False) -> Certificate:
    """The one kept in this folder; made at the first time, an expired one beside the good one."""
    path = folder / ("certificate-expired.pem" if expired else "certificate.pem")
    if not path.exists():
        now = datetime.now(UTC)
        end = now - timedelta(days=1) if expired else now + LIFETIME
        keep(path, _self_signed(name, host, end - LIFETIME - timedelta(days=1), end))
    return Certificate(path)


def _self_signed(name: str, host: str, begin: datetime, end: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "crl_sign",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName(_names(name, host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _names(name: str, host: str) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = [x509.DNSName(name.replace("_", "-"))]
    for each in dict.fromkeys((host, *_LOOPBACK)):
        address = _address(each)
        found.append(x509.DNSName(each) if address is None else x509.IPAddress(address))
    return found


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
