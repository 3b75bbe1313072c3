"""The page in a real browser: make, watch, pause, on a phone, in the dark, by keyboard."""

from pathlib import Path
from typing import Any

import pytest
from services import Running, running

from heavybandits.service.storage import open_storage

pytestmark = pytest.mark.slow


def earn(server: Running, rounds: int) -> None:
    """Let an experiment run: green pays more, and one reward of red is huge."""
    pays = {"blue": 0.0, "green": 1.0, "red": 0.5}
    for round_ in range(rounds):
        decision = server("POST", "/shop/decisions", {}).body
        value = pays[decision["arm"]] + 0.1 * (round_ % 3)
        server("PUT", f"/shop/decisions/{decision['id']}/reward", {"value": value})
    server("POST", "/shop/observations", {"arm": "red", "value": 1e6})


def test_the_page_in_a_browser(browser: Any, tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
        problems: list[str] = []
        elsewhere: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: elsewhere.append(request.url) if server.address not in request.url else None)
        page.goto(f"http://{server.address}/")
        page.get_by_label("Name").fill("shop")
        page.get_by_label("Arms, one per line").fill("blue\ngreen\nred")
        page.get_by_role("button", name="Create experiment").click()
        page.get_by_role("heading", name="shop").wait_for()
        assert "No rewards yet" in page.get_by_role("status").inner_text()
        earn(server, 60)
        page.get_by_text("after 60 decisions and 61 rewards").wait_for()  # without a reload
        assert "leads" in page.get_by_role("status").inner_text()
        page.get_by_text("Without them green would have the highest mean instead of red.").wait_for()
        for chart in ("chart-share", "chart-estimate", "chart-cost"):
            assert page.locator(f"#{chart} canvas").count() == 1
        pause = page.get_by_role("button", name="Pause red")
        pause.focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Resume red").wait_for()
        page.get_by_text("The ten largest in absolute value").click()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        server("POST", "/shop/observations", {"arm": "blue", "value": 0.0})
        page.get_by_text("after 60 decisions and 62 rewards").wait_for()
        assert page.locator("#largest").evaluate("details => details.open")  # it stays as the reader left it
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
        assert (problems, elsewhere) == ([], [])


def test_very_many_arms_in_a_browser(browser: Any, tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        server("PUT", "/shop", {"arms": [{"name": f"arm {n}"} for n in range(1000)], "policy": "ucb"})
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"http://{server.address}/experiments/shop")
        table = page.locator("#arms")
        assert table.locator("tbody tr").count() == 50
        table.evaluate("table => { table.scrollTop = 200; }")
        server("POST", "/shop/observations", {"arm": "arm 700", "value": 1.0})
        page.get_by_text("after 0 decisions and 1 reward").wait_for()  # without a reload
        assert table.evaluate("table => table.scrollTop") == 200
        page.get_by_role("link", name="All 1,000 arms").click()
        page.get_by_role("button", name="Pause arm 999").click()
        page.get_by_role("heading", name="shop").wait_for()
        assert server("GET", "/shop").body["arms"][999]["state"] == "paused"
        assert problems == []
