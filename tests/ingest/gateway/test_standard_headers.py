"""Which headers of a webhook are its own."""

import pytest

from strom.ingest.gateway.standard_headers import is_standard


@pytest.mark.parametrize(
    "name", ["authorization", "cookie", "content-type", "host", "user-agent", "sec-fetch-mode"]
)
def test_what_is_https_own_or_a_secret_is_not_copied(name: str) -> None:
    assert is_standard(name)


@pytest.mark.parametrize("name", ["x-github-event", "webhook-id", "strom-dialect", "x-api-version", "second"])
def test_what_a_sender_made_up_is_copied(name: str) -> None:
    assert not is_standard(name)
