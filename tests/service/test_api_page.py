"""The page that describes the interface: complete, without dead links, and without anything from elsewhere."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from services import Running, call, running

from heavybandits.service.http.openapi import openapi_description
from heavybandits.service.storage import open_storage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(open_storage(f"sqlite:///{tmp_path_factory.mktemp('log')}/log.db")) as server:
        yield server


def test_it_names_every_endpoint_and_every_field(server: Running) -> None:
    answer = call(server.address, "GET", "/docs")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = answer.body.decode()
    for path, methods in openapi_description()["paths"].items():
        for method, item in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in text
            assert item["operationId"] in re.findall(r'<section id="(\w+)">', text)
    for name, schema in openapi_description()["components"]["schemas"].items():
        _, _, section = text.partition(f'<section id="{name}">')
        section = section.partition("</section>")[0]
        assert re.findall(r"<li><code>(.*?)</code>: ", section) == list(schema["properties"])
    assert 'list of <a href="#BatchItem">BatchItem</a>, required' in text
    assert 'default <code>"mean"</code>' in text
    links = set(re.findall(r'href="#(\w+)"', text))
    assert links <= set(re.findall(r'id="(\w+)"', text))
    assert not re.search(r"https?://", text)


def test_it_fits_a_phone(server: Running, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url))
    page.on("console", lambda message: seen.append(f"problem: {message.text}"))
    page.goto(f"http://{server.address}/")
    page.get_by_role("link", name="the reference").click()
    page.get_by_role("heading", name="The interface").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [url for url in seen if server.address not in url] == []
