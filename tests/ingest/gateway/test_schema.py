"""Whatever schemathesis makes of the gateway's own description is answered as it says, and never with a 5xx."""

import copy
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from strom.ingest.gateway.openapi import description
from strom.settings import Settings
from tests.ingest.gateway.calling import Caller
from tests.streams.writing import topic_of

pytestmark = pytest.mark.stack

TOPIC = "team-schemathesis"
ANSWERS = ("Written", "Record", "Offset", "Committed", "Group")  # may name any topic
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
BOUNDED = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


def with_real_topics(found: Any) -> Any:
    """The description with names of topics that are there, or nearly, so that much of it is written and read."""
    if isinstance(found, dict):
        if found.get("name") == "topic" and "schema" in found:
            return found | {"schema": {"enum": [TOPIC, "team-not-there"]}}
        changed = {name: item if name in ANSWERS else with_real_topics(item) for name, item in found.items()}
        if "topic" in changed and changed["topic"] == {"type": "string"}:
            changed["topic"] = {"enum": [TOPIC]}
        if changed.get("maximum") == 60_000:
            changed["maximum"] = 20  # of waiting in vain
        return changed
    return [with_real_topics(item) for item in found] if isinstance(found, list) else found


AS_IT_IS = schemathesis.openapi.from_dict(description())
WITH_TOPICS = schemathesis.openapi.from_dict(with_real_topics(copy.deepcopy(description())))


@pytest.fixture(scope="module")
def caller(gateway: Caller, stack: Settings) -> Caller:
    topic_of(stack, TOPIC)
    return gateway


@AS_IT_IS.parametrize()
@BOUNDED
def test_any_request_of_the_description_is_answered_as_described(
    case: schemathesis.Case[Any], caller: Caller
) -> None:
    _check(case, caller)


@WITH_TOPICS.parametrize()
@BOUNDED
def test_requests_for_a_real_topic_are_answered_as_described(
    case: schemathesis.Case[Any], caller: Caller
) -> None:
    _check(case, caller)


def _check(case: schemathesis.Case[Any], caller: Caller) -> None:
    authorization = {"Authorization": caller.client.headers["authorization"]}
    case.call_and_validate(base_url=str(caller.client.base_url), headers=authorization, checks=CHECKS)
