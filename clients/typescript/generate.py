"""Write the TypeScript client, index.js and index.d.ts, from the OpenAPI description of the service."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from heavybandits.service.http.openapi import openapi_description

FOLDER = Path(__file__).parent
NOTE = "// Written by generate.py from the OpenAPI description of the service; edit that, not this.\n"
JS = """
import { Runtime, ServiceError, at, withId, withIds } from "./runtime.js";

export { ServiceError };

export class Client extends Runtime {
"""
TYPES = """
export type Decision = Omit<DecisionAnswer, "reason"> & { reason: DecisionAnswer["reason"] | "fallback" };

/** The arm to use if the service refuses or does not answer, and milliseconds to wait, retries included. */
export interface DecisionOptions {
  fallback?: string;
  timeout?: number;
}

/** The service refused (`status`), did not answer, or gave an answer that cannot be understood (0). */
export class ServiceError extends Error {
  readonly status: number;
  readonly temporary: boolean;
}

/** `timeout` is how long to wait for an answer and `patience` how long to retry, in milliseconds. */
export class Client {
  constructor(url?: string, options?: { token?: string; timeout?: number; patience?: number });
"""


class Endpoint(NamedTuple):
    """A call of the client."""

    name: str
    says: str
    method: str
    path: str
    parts: list[str]  # names in the path
    form: dict[str, Any] | None  # schema of the request's body
    query: dict[str, Any]  # schemas by name
    answer: dict[str, Any] | None  # schema, None if it is not JSON


def endpoints() -> Iterator[Endpoint]:
    """Yield the endpoints of the service's own interface, without those of OpenFeature."""
    own = {path: methods for path, methods in openapi_description()["paths"].items() if not path.startswith("/ofrep")}
    for path, methods in own.items():
        for verb, item in methods.items():
            name = re.sub(r"_(\w)", lambda found: found[1].upper(), item["operationId"])
            form = item.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            query = {each["name"]: each["schema"] for each in item["parameters"] if each["in"] == "query"}
            answer = item["responses"]["200"].get("content", {}).get("application/json", {}).get("schema")
            parts = re.findall(r"{(\w+)}", path)
            yield Endpoint(name, item["summary"], verb.upper(), path, parts, form, query, answer)


def typed(schema: dict[str, Any]) -> str:
    """Return a schema as a type.

    Examples
    --------
    >>> typed({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]})
    'number[] | null'
    """
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(typed(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        inner = typed(schema["items"])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if kind == "object":
        return f"Record<string, {typed(schema.get('additionalProperties') or {})}>"
    return {"integer": "number", None: "any"}.get(kind, str(kind))


def interface(name: str, schema: dict[str, Any]) -> str:
    """Return an object's schema as an interface."""
    says = " ".join(schema.get("description", "").split()).replace("``", "`")
    needed = schema.get("required", [])
    fields = [(field if field in needed else f"{field}?", typed(kind)) for field, kind in schema["properties"].items()]
    lines = "".join(f"  {field}: {kind};\n" for field, kind in fields)
    return f"\n/** {says} */\nexport interface {name} {{\n{lines}}}\n"


def signature(item: Endpoint) -> str:
    """Return a method's declaration."""
    given = [f"{part}: string" for part in item.parts]
    if item.form is not None:
        needed = openapi_description()["components"]["schemas"][typed(item.form)].get("required")
        given.append(f"request{'' if needed else '?'}: {typed(item.form)}")
    if item.query:
        given.append(f"query?: {{ {'; '.join(f'{name}?: {typed(kind)}' for name, kind in item.query.items())} }}")
    answer = typed(item.answer) if item.answer else "string" if item.name == "metrics" else "ArrayBuffer"
    if item.name == "decide":
        given, answer = [*given, "options?: DecisionOptions"], "Decision"
    return f"  /** {item.says} */\n  {item.name}({', '.join(given)}): Promise<{answer}>;\n"


def method(item: Endpoint) -> str:
    """Return a method."""
    given, path = list(item.parts), re.sub(r"{(\w+)}", r"${\1}", item.path)
    address = f"at`{path}`" + (" + `?${new URLSearchParams(query)}`" if item.query else "")
    sent, how = [f'"{item.method}"', address], "send"
    if item.form is not None:
        given.append("request = {}")
        fields = openapi_description()["components"]["schemas"][typed(item.form)]["properties"]
        sent.append("withIds(request)" if "items" in fields else "withId(request)" if "id" in fields else "request")
    if item.query:
        given.append("query")
    if item.answer is None:
        sent += ["undefined", '"text"' if item.name == "metrics" else '"arrayBuffer"']
    if item.name == "decide":
        how, given, sent = "ask", [*given, "options"], [*sent[:2], "request", "options"]
    return f"  {item.name}({', '.join(given)}) {{\n    return this.{how}({', '.join(sent)});\n  }}\n"


def files() -> dict[str, str]:
    """Return the files by name."""
    schemas = {
        name: kind for name, kind in openapi_description()["components"]["schemas"].items() if name[:4] != "Flag"
    }
    types = "".join(interface(name, schema) for name, schema in sorted(schemas.items()))
    return {
        "index.js": NOTE + JS + "\n".join(map(method, endpoints())) + "}\n",
        "index.d.ts": NOTE + types + TYPES + "\n".join(map(signature, endpoints())) + "}\n",
    }


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text)
