"""Write docs/service-api.md, the reference of the HTTP interface, from its OpenAPI description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from heavybandits.service.http.openapi import openapi_description

PAGE = Path(__file__).parent / "service-api.md"
BEFORE = """\
# The interface of the service

Every endpoint of [the decision service](service.md), with the role that its token needs and the bodies of requests and
answers. A server describes itself at `/openapi.json`. Errors are answered as `application/problem+json`, with a
`title`, a `status` and a `detail`.

"""


def page() -> str:
    """Return the page."""
    found = openapi_description()
    text = BEFORE
    for path, operations in found["paths"].items():
        for method, item in operations.items():
            role = item.get("description", "Needs no token.")
            text += f"## {method.upper()} {path}\n\n{item['summary']} {role}\n\n"
            if "requestBody" in item:
                text += f"Request: {_named(item['requestBody'])}.\n\n"
            for status, answer in sorted(item["responses"].items()):
                if status != "default" and "content" in answer:
                    text += f"- {status}: {_named(answer)}\n"
            text += "\n"
    text += "## Bodies\n\n"
    for name, schema in sorted(found["components"]["schemas"].items()):
        text += f"### {name}\n\n{schema.get('description', '').partition(chr(10))[0]}\n\n"
        for field, kind in schema.get("properties", {}).items():
            needed = (
                "required" if field in schema.get("required", []) else f"default `{json.dumps(kind.get('default'))}`"
            )
            text += f"- `{field}`: {_type(kind)}, {needed}\n"
        text += "\n"
    return text.rstrip() + "\n"


def _named(body: dict[str, Any]) -> str:
    return _type(body["content"]["application/json"]["schema"])


def _type(schema: dict[str, Any]) -> str:
    """Return a type in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return str(schema.get("type", "anything"))


if __name__ == "__main__":
    PAGE.write_text(page())
