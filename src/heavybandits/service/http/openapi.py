"""The OpenAPI description of the interface, made from the table of endpoints."""

from __future__ import annotations

import functools
import re
from typing import Any

import msgspec

from ... import __version__
from ..forms import Problem
from ..spec import PARTS
from .table import OPERATIONS, Operation


@functools.cache
def openapi_description() -> dict[str, Any]:
    """Return the description.

    Examples
    --------
    >>> openapi_description()["info"]["title"]
    'heavybandits decision service'
    """
    from . import openfeature, operations, reading  # which fill the table, in the order in which they are imported

    modules = [module.__name__ for module in (operations, reading, openfeature)]
    items = sorted(OPERATIONS, key=lambda item: modules.index(item.handler.__module__))
    types = [Problem, *PARTS.values()]
    for item in items:
        types += [kind for kind in (item.form, *item.answers.values(), *item.query.values()) if kind is not None]
    unique = list({repr(kind): kind for kind in types}.values())
    schemas, components = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    for component in components.values():
        component["description"] = re.split(r"\s+Examples\n", component["description"])[0]
    known = {repr(kind): schema for kind, schema in zip(unique, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for item in items:
        paths.setdefault(item.path, {})[item.method.lower()] = _described(item, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "heavybandits decision service", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(item: Operation, known: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": part, "in": "path", "required": True, "schema": known[repr(PARTS[part])]}
        for part in re.findall(r"{(\w+)}", item.path)
    ] + [{"name": name, "in": "query", "schema": known[repr(kind)]} for name, kind in item.query.items()]
    problem = {"application/problem+json": {"schema": known[repr(Problem)]}}
    found: dict[str, Any] = {
        "operationId": item.handler.__name__,
        "summary": " ".join(str(item.handler.__doc__).split()),
        "parameters": parameters,
        "responses": {"default": {"description": "An error.", "content": problem}},
    }
    for status, kind in item.answers.items():
        content = {} if kind is None else {"content": {"application/json": {"schema": known[repr(kind)]}}}
        what = "Created." if status == 201 else "Success." if status < 300 else "An error."
        found["responses"][str(status)] = {"description": what} | content
    if item.form is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": known[repr(item.form)]}}}
    if item.role is not None:
        found["security"] = [{"token": []}, {}]
        others = "" if item.role == "admin" else " or admin"
        found["description"] = f"Needs a token with role {item.role}{others}."
    return found
