"""Responses with an error on purpose are those that Kafka builds for the same requests
(`AbstractRequest.getErrorResponse`), for every API and version that both know.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from commands import QUICK_JVM, compile_java
from kcompat.api.registry import SERVED
from kcompat.instrumentation.faults.error_responses import error_response
from kcompat.protocol.api_keys import ApiKey, request_class, response_class
from kcompat.protocol.errors import ErrorCode
from kcompat.protocol.plan import plan_message
from support.any_requests import AnyRequests
from support.kafka_jars import class_path
from support.places import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = REPOSITORY / "interop-tests" / "java" / "errors" / "ErrorResponses.java"
ERROR = ErrorCode.COORDINATOR_NOT_AVAILABLE
OTHERWISE = {
    ApiKey.CREATE_DELEGATION_TOKEN: "Kafka has a principal and times of -1, beside the error",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "Kafka has a row without a name for each user, beside the error",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "Kafka has empty rows without errors, beside the error",
}
"""APIs whose responses differ in fields that no client reads when there is an error."""
KNOWN = {"3.9.2": 270, "4.3.0": 260}
"""Least number of versions that a release answers."""
EARLY = {"3.9.2": ApiKey.SHARE_GROUP_HEARTBEAT}
"""First API of those that a release has in an early form, with other fields."""


def requests() -> list[tuple[ApiKey, int, Any]]:
    """A request of every version that we serve."""
    found = []
    for api in SERVED:
        for version in range(api.min_version, api.max_version + 1):
            message = AnyRequests(version).make(plan_message(request_class(api.key), version))
            if api.key is ApiKey.PRODUCE:
                message.acks = 1
            found.append((api.key, version, message))
    return found


def plain(value: Any) -> Any:
    """A message without the order of rows, texts of errors, and how it says that there are no records."""
    if isinstance(value, msgspec.Struct):
        fields = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        if "records" in fields:
            fields["records"] = bytes(fields["records"] or b"")
        fields.pop("error_message", None)
        return fields
    return sorted(map(plain, value), key=repr) if isinstance(value, list) else value


@pytest.mark.thorough("tests/unit/instrumentation/faults builds all of them without a Kafka")
@pytest.mark.parametrize("release", KNOWN)
def test_a_failed_request_has_the_response_that_kafka_builds(release: str, tmp_path: Path) -> None:
    compile_java(class_path(release), tmp_path, SOURCE)
    asked = requests()
    lines = [
        f"{int(key)} {version} {int(ERROR)} {b''.join(map(bytes, message.encode(version))).hex()}\n"
        for key, version, message in asked
    ]
    path = f"{tmp_path}:{class_path(release)}"
    program = [*QUICK_JVM, "-cp", path, "ErrorResponses"]
    said = subprocess.run(program, input="".join(lines), capture_output=True, text=True, check=True).stdout
    known, differing = 0, []
    for (key, version, message), line in zip(asked, said.splitlines(), strict=True):
        if key in OTHERWISE or key >= EARLY.get(release, len(ApiKey)) or not line.startswith("= "):
            continue
        known += 1
        theirs = response_class(key).decode(memoryview(bytes.fromhex(line[2:])), version)
        built = error_response(key, version, message, ERROR, in_rows=False)
        data = b"".join(map(bytes, built.encode(version)))
        ours = response_class(key).decode(memoryview(data), version)
        if plain(ours) != plain(theirs):
            differing.append(f"{key.name} {version}: {ours} is {theirs} in Kafka")
    assert differing == []
    assert known >= KNOWN[release], known
