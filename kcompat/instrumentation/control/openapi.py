"""The description of the control port in the format of OpenAPI 3.1, made from its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from kcompat.instrumentation.control.problems import MEDIA_TYPE, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcompat.instrumentation.control.operation import HttpOperation

Schema: TypeAlias = dict[str, Any]

PATH: Final = "/openapi.json"
"""The path at which the description is served."""
VERSION: Final = "1"
"""Version of the control port. It changes when a program that uses the port has to change."""
_REFERENCE: Final = "#/components/schemas/{name}"


def as_text(operations: Sequence[HttpOperation]) -> bytes:
    """Return the description of these operations as a file of JSON."""
    return msgspec.json.format(msgspec.json.encode(describe(operations)), indent=1) + b"\n"


def describe(operations: Sequence[HttpOperation]) -> Schema:
    """Return the description of these operations."""
    types = [each.request for each in operations] + [each.answer for each in operations if each.answer]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=_REFERENCE)
    answers = iter(schemas[len(operations) :])
    requests = [components[each.request.__name__] for each in operations]
    paths: dict[str, Schema] = {}
    for operation, request in zip(operations, requests, strict=True):
        answer = None if operation.answer is None else next(answers)
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(
            operation, request, answer
        )
    used = {each.request.__name__ for each in operations}
    for schema in components.values():
        if "description" in schema:  # a docstring, from which Python keeps the indentation before 3.13
            schema["description"] = _one_line(schema["description"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kcompat control port",
            "version": VERSION,
            "summary": "Look into a kcompat broker for tests, and disturb it.",
        },
        "paths": paths,
        "components": {"schemas": {name: each for name, each in components.items() if name not in used}},
    }


def _operation(operation: HttpOperation, request: Schema, answer: Schema | None) -> Schema:
    """Return the description of one operation. `request` is the schema of all of its parameters."""
    summary, _, more = (operation.perform.__doc__ or "").partition("\n\n")
    described: Schema = {"operationId": operation.name, "summary": _one_line(summary)}
    if more:
        described["description"] = _one_line(more)
    properties: dict[str, Schema] = request["properties"]
    required: list[str] = request.get("required", [])
    others = [name for name in properties if name not in operation.in_path]
    parameters = [_parameter(name, "path", properties[name], is_required=True) for name in operation.in_path]
    if not operation.has_body:
        parameters += [
            _parameter(name, "query", properties[name], is_required=name in required) for name in others
        ]
    elif others:
        described["requestBody"] = _body(properties, others, required)
    if parameters:
        described["parameters"] = parameters
    described["responses"] = {
        str(int(operation.status)): _answer(operation.status.phrase, answer, "application/json"),
        "default": _answer("The request is refused.", _reference_to(Problem), MEDIA_TYPE),
    }
    return described


def _parameter(name: str, place: str, schema: Schema, *, is_required: bool) -> Schema:
    schema = dict(schema)
    parameter: Schema = {"name": name, "in": place, "required": is_required}
    if description := schema.pop("description", None):
        parameter["description"] = description
    return {**parameter, "schema": schema}


def _body(properties: dict[str, Schema], names: Iterable[str], required: Sequence[str]) -> Schema:
    names = list(names)
    needed = [name for name in names if name in required]
    schema: Schema = {
        "type": "object",
        "properties": {name: properties[name] for name in names},
        "required": needed,
        "additionalProperties": False,
    }
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}


def _answer(description: str, schema: Schema | None, media_type: str) -> Schema:
    if schema is None:
        return {"description": description}
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _reference_to(type_: type[msgspec.Struct]) -> Schema:
    return {"$ref": _REFERENCE.format(name=type_.__name__)}


def _one_line(text: str) -> str:
    return " ".join(text.split())
