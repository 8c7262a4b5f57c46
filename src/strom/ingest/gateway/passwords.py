"""Passwords as scrypt hashes: made once, checked in constant time. It knows no users."""

import hashlib
import hmac
import secrets

from strom.settings import PasswordHash

# 16 MB and some 0.2 s a check: one of the choices that OWASP gives for scrypt.
_N, _R, _P = 1 << 14, 8, 5
_SALT_BYTES, _DIGEST_BYTES = 16, 32


def make_hash(password: str) -> str:
    """As it stands in the settings: `scrypt$n$r$p$salt$hash`."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = _scrypt(password.encode(), PasswordHash(_N, _R, _P, salt, bytes(_DIGEST_BYTES)))
    return str(PasswordHash(_N, _R, _P, salt, digest))


def matches(password: bytes, known: PasswordHash) -> bool:
    return hmac.compare_digest(_scrypt(password, known), known.digest)


def nobodys_hash() -> PasswordHash:
    """No password has it: checked for an unknown user, so that the answer takes as long as for a wrong password."""
    return PasswordHash(_N, _R, _P, secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_DIGEST_BYTES))


def _scrypt(password: bytes, like: PasswordHash) -> bytes:
    room = 128 * like.r * (like.n + like.p + 2)  # what OpenSSL takes for it
    return hashlib.scrypt(
        password, salt=like.salt, n=like.n, r=like.r, p=like.p, maxmem=2 * room, dklen=len(like.digest)
    )
