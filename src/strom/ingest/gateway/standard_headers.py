"""Which HTTP request headers are of HTTP itself: a webhook's own ones become headers of its record, these do not."""

# Those of requests among the registered HTTP field names (RFC 9110 and its companions), and what proxies add.
_NAMES = """
a-im accept accept-charset accept-datetime accept-encoding accept-features accept-language accept-patch accept-post
accept-ranges access-control-request-headers access-control-request-method alt-used authorization baggage
cache-control caldav-timezones capsule-protocol cdn-loop cert-not-after cert-not-before client-cert
client-cert-chain close connection content-digest content-disposition content-encoding content-language
content-length content-location content-md5 content-range content-type cookie cookie2 date depth destination dnt
dpop early-data expect forwarded from hobareg host http2-settings if if-match if-modified-since if-none-match
if-range if-schedule-tag-match if-unmodified-since incremental keep-alive label lock-token max-forwards
mime-version negotiate origin overwrite pragma prefer priority proxy-authorization proxy-connection range referer
referer-root repeatability-client-id repeatability-first-sent repeatability-request-id save-data
schedule-reply signature signature-input slug te timeout topic traceparent tracestate trailer transfer-encoding ttl
upgrade upgrade-insecure-requests urgency user-agent via want-content-digest want-digest want-repr-digest
x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto x-forwarded-server x-real-ip
"""
STANDARD = frozenset(_NAMES.split())
_STANDARD_BEGINNINGS = ("sec-",)


def is_standard(name: str) -> bool:
    """`name` in small letters."""
    return name in STANDARD or name.startswith(_STANDARD_BEGINNINGS)
