"""The page in a real browser: make, watch, pause, on a phone, in the dark, by keyboard."""

from itertools import pairwise
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
        page.get_by_label("Name", exact=True).fill("shop")
        page.get_by_label("Arms, one per line").fill("blue\ngreen\nred")
        page.get_by_role("button", name="Create experiment").click()
        page.get_by_role("heading", name="shop").wait_for()
        assert "No rewards yet" in page.locator("#said").inner_text()
        earn(server, 60)
        page.get_by_text("61 rewards so far").wait_for()  # without a reload
        assert "leads" in page.get_by_role("status").inner_text()  # announced, because the sentence is new
        page.get_by_text("without them green would have the highest mean instead of red").wait_for()
        assert page.locator(".chart path").count() == 6  # three arms, two charts
        assert page.locator(".picture tbody tr").count() == 3
        assert "green" in page.locator(".chart rect title").first.text_content()  # what a pointer over it sees
        page.get_by_text("Values").first.click()
        assert "%" in page.get_by_role("region", name="Values: Share of decisions").inner_text()
        page.get_by_text("Arms in numbers").click()
        pause = page.get_by_role("button", name="Pause red")
        pause.focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Resume red").wait_for()
        page.get_by_text("The largest rewards").click()
        page.locator("#largest summary").focus()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        server("POST", "/shop/observations", {"arm": "blue", "value": 0.0})
        page.get_by_text("62 rewards so far").wait_for()
        assert page.locator("#largest").evaluate("details => details.open")  # it stays as the reader left it
        assert page.evaluate("document.activeElement.id") == "about-largest"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
        assert (problems, elsewhere) == ([], [])


NAMELESS = """() => [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary")]
    .filter((one) => !(one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim()))
    .map((one) => one.outerHTML)"""
REPEATED = """() => { const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
    return ids.filter((id, at) => ids.indexOf(id) !== at); }"""
SEEN_BY_READERS = """() => [...document.querySelectorAll("svg")]
    .filter((one) => !one.closest("[aria-hidden=true]")).map((one) => one.outerHTML)"""

OUT_OF_REACH = """() => [...document.querySelectorAll(".scroll, pre")]
    .filter((one) => one.tabIndex !== 0 || (one.role === "region" && !one.ariaLabel)).map((one) => one.outerHTML)"""


def test_everything_has_a_name_and_is_reached_by_keyboard(browser: Any, tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        server("PUT", "/shop", {"arms": [{"name": "blue"}, {"name": "green"}, {"name": "red"}], "policy": "ucb"})
        earn(server, 40)
        long, arms = "x" * 64, ["a" * 64, "b" * 64]
        server("PUT", f"/{long}", {"arms": [{"name": name} for name in arms], "policy": "ucb"})
        for number in range(60):
            server("POST", f"/{long}/observations", {"arm": arms[number % 2], "value": float(number % 3)})
        page = browser.new_page(viewport={"width": 390, "height": 844})
        for path in ("/", "/?q=nothing", "/experiments/shop", "/experiments/shop/arms", f"/experiments/{long}"):
            page.goto(f"http://{server.address}{path}")
            page.locator("h1").wait_for()
            scripts = (NAMELESS, REPEATED, SEEN_BY_READERS, OUT_OF_REACH)
            assert [page.evaluate(script) for script in scripts] == [[], [], [], []]
            levels = page.evaluate("() => [...document.querySelectorAll('h1, h2, h3')].map((one) => +one.tagName[1])")
            assert levels[0] == 1
            assert all(after <= before + 1 for before, after in pairwise(levels))
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.goto(f"http://{server.address}/experiments/shop")
        reached = []
        for _ in range(16):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        assert reached[:3] == ["Skip to the content", "All experiments", "Pause the experiment"]
        assert {"about-numbers", "about-waiting", "about-tails", "about-largest"} <= set(reached)
        page.locator("#about-numbers").focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Finish red").wait_for()


def test_very_many_arms_in_a_browser(browser: Any, tmp_path: Path) -> None:
    with running(open_storage(f"sqlite:///{tmp_path}/log.db")) as server:
        server("PUT", "/shop", {"arms": [{"name": f"arm {n}"} for n in range(1000)], "policy": "ucb"})
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"http://{server.address}/experiments/shop")
        page.get_by_text("Arms in numbers").click()
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
