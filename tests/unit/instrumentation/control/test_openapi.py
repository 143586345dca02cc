"""The description of the control port says what it serves, and the copies of it are up to date."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from kcompat.instrumentation.control.openapi import as_text, describe
from kcompat.instrumentation.control.operation import HttpOperation, Nothing
from kcompat.instrumentation.control.operations import OPERATIONS
from support.places import REPOSITORY

if TYPE_CHECKING:
    from kcompat.instrumentation.control.control import Control

KEPT = REPOSITORY / "docs" / "reference" / "control-port.json"
PAGE = REPOSITORY / "docs" / "how-to" / "control-a-broker-over-http.md"


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    topic: str
    name: str
    count: int = 1


class Thing(msgspec.Struct):
    """A thing that
    was made.
    """

    name: str


async def make_thing(control: Control, wanted: Wanted) -> Thing:
    """Make a thing.

    More about
    it.
    """
    return Thing(wanted.name)


async def remove(control: Control, wanted: Wanted) -> None:
    """Remove a thing."""


async def check(control: Control, wanted: Nothing) -> None:
    """Check all things."""


MAKE = HttpOperation("POST", "/topics/{topic}/things", make_thing, Wanted, Thing, HTTPStatus.CREATED)
REMOVE = HttpOperation("DELETE", "/topics/{topic}/things", remove, Wanted, None, HTTPStatus.NO_CONTENT)
CHECK = HttpOperation("POST", "/check", check, Nothing, None, HTTPStatus.NO_CONTENT)


def test_the_description_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(json.loads(msgspec.json.encode(describe(OPERATIONS)))).validate()


def test_a_post_has_its_parameters_in_the_path_and_the_body() -> None:
    described = describe([MAKE])["paths"]["/topics/{topic}/things"]["post"]
    assert described["operationId"] == "make_thing"
    assert (described["summary"], described["description"]) == ("Make a thing.", "More about it.")
    assert described["parameters"] == [
        {"name": "topic", "in": "path", "required": True, "schema": {"type": "string"}}
    ]
    assert described["requestBody"]["required"]
    assert described["requestBody"]["content"]["application/json"]["schema"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["name"],
        "additionalProperties": False,
    }
    assert described["responses"].keys() == {"201", "default"}
    assert described["responses"]["201"]["content"] == {
        "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}
    }


def test_other_requests_have_their_parameters_in_the_path_and_the_query() -> None:
    described = describe([REMOVE])["paths"]["/topics/{topic}/things"]["delete"]
    assert [(each["name"], each["in"], each["required"]) for each in described["parameters"]] == [
        ("topic", "path", True),
        ("name", "query", True),
        ("count", "query", False),
    ]
    assert "requestBody" not in described
    assert described["responses"]["204"] == {"description": "No Content"}


def test_a_request_without_parameters_has_neither() -> None:
    described = describe([CHECK])["paths"]["/check"]["post"]
    assert described.keys() == {"operationId", "summary", "responses"}


def test_schemas_of_requests_are_not_repeated_beside_them() -> None:
    schemas = describe([MAKE, REMOVE])["components"]["schemas"]
    assert schemas.keys() == {"Thing", "Problem"}
    assert schemas["Thing"]["description"] == "A thing that was made."


def test_names_of_operations_and_types_are_unique() -> None:
    names = [each.name for each in OPERATIONS]
    assert len(set(names)) == len(names)
    requests = {each.request for each in OPERATIONS}
    assert len({each.__name__ for each in requests}) == len(requests)


def test_the_kept_description_is_that_of_the_operations() -> None:
    """To renew it: curl http://localhost:PORT/openapi.json > docs/reference/control-port.json."""
    assert KEPT.read_bytes() == as_text(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_the_page_names_each_request_and_its_parameters(operation: HttpOperation) -> None:
    rows = re.findall(r"^\| `(GET|POST|DELETE) (\S+)` \|.*\|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    parameters = {(method, path): cell.strip() for method, path, cell in rows}
    fields = msgspec.structs.fields(operation.request)
    wanted = [(not each.required, f"`{each.name}`") for each in fields if each.name not in operation.in_path]
    assert parameters[operation.method, operation.path] == ", ".join(
        name if is_optional else f"**{name}**"
        for is_optional, name in sorted(wanted, key=lambda each: each[0])
    )
    assert len(rows) == len(OPERATIONS)
