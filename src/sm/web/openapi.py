"""The API's description (OpenAPI 3.1), made from the same declarations that serve it."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from sm.api.types import Problem
from sm.version import VERSION
from sm.web.endpoint import Endpoint

_REFUSALS = {
    400: "The request does not fit",
    401: "Over TCP: a token is needed",
    403: "Over TCP: called by a foreign name or page",
    404: "There is no such thing",
    409: "Understood and refused",
}


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    endpoints = list(endpoints)
    types = [t for e in endpoints for t in (e.body, e.gives) if t is not None]
    schemas, components = msgspec.json.schema_components(
        [Problem, *types], ref_template="#/components/schemas/{name}", schema_hook=_schema_of
    )
    by_type = dict(zip([id(Problem), *map(id, types)], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sm",
            "version": VERSION,
            "description": "Durable sessions for coding agents. Unix socket, or loopback TCP "
            "with a token.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _schema_of(type_: type) -> dict[str, Any]:
    if type_ is object:
        return {"description": "Any JSON value"}
    raise NotImplementedError


def _operation(endpoint: Endpoint, schemas: dict[int, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.about,
        "operationId": _name(endpoint),
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": {str(endpoint.status): _answer(endpoint, schemas)},
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": schemas[id(endpoint.body)]}}
        operation["requestBody"] = {"required": True, "content": content}
    for status in (400, 401, 403, *endpoint.refusals):
        operation["responses"][str(status)] = {
            "description": _REFUSALS[status],
            "content": {"application/json": {"schema": schemas[id(Problem)]}},
        }
    return operation


def _answer(endpoint: Endpoint, schemas: dict[int, Any]) -> dict[str, Any]:
    if endpoint.gives is None:
        return {"description": "Done"}
    content = {endpoint.media: {"schema": schemas[id(endpoint.gives)]}}
    return {"description": "Done", "content": content}


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": q.name,
            "in": "query",
            "description": q.about,
            "schema": {**msgspec.json.schema(q.type), "default": q.default},
        }
        for q in endpoint.query
    ]


def _name(endpoint: Endpoint) -> str:
    words = re.sub(r"\W+", " ", endpoint.path).split()
    return "_".join([endpoint.method.lower(), *words])
