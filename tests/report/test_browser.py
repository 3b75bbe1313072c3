"""The page works in a browser: it sorts, filters, answers the pointer, and fits a phone."""

from pathlib import Path
from typing import Any

import pytest
from reports import result, study, verdict, write_claims

LONG = "A remark that is far too long to stand in one line of a phone"
FOUR = f"Four {LONG}"


@pytest.mark.slow
def test_the_page_in_a_browser(browser: Any, tmp_path: Path) -> None:
    slopes = {f"x{i}": result([0.2], [0.05], [1.0], labels=("auto", "b", "c" * 60)) for i in range(2)}
    verdicts = [verdict("One", "does not hold"), verdict("Two", where="Section 4"), verdict("Three")]
    verdicts.append(verdict("Four", "undecided", where=LONG))
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    problems: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(write_claims([study(slopes)], tmp_path, verdicts).as_uri())
    sorts(page)
    filters(page)
    answers_the_pointer_and_the_keyboard(page)
    suits_the_dark_paper_and_a_phone(page)
    assert problems == []
    assert len(requests) == 1  # the page itself


def sorts(page: Any) -> None:
    table = page.locator("table.sortable").first
    head, names = table.locator("thead th").nth(1), table.locator("tbody tr th")
    head.locator("button").click()
    assert names.all_inner_texts() == ["b", "auto", "c" * 60]
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").press("Enter")
    assert names.all_inner_texts() == ["c" * 60, "auto", "b"]
    assert head.get_attribute("aria-sort") == "descending"


def words(found: Any) -> list[str]:
    """Return the texts with ordinary spaces; some on the page are non-breaking."""
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in found.all_inner_texts()]


def filters(page: Any) -> None:
    claims = page.locator(".claims li:visible .claim")
    assert words(claims) == ["One Figure 1", FOUR, "Two Section 4", "Three Figure 1"]
    page.get_by_role("button", name="Holds 2").click()
    assert words(claims) == ["Two Section 4", "Three Figure 1"]
    page.get_by_label("Section").select_option("Section 4")
    assert words(claims) == ["Two Section 4"]
    assert page.get_by_text("1 of 4 shown").is_visible()


def answers_the_pointer_and_the_keyboard(page: Any) -> None:
    panel, tip = page.locator(".panel").first, page.locator(".tip").first
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    assert tip.is_hidden()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
    assert tip.is_visible()
    told = tip.inner_text().split()
    assert told[1] == "pulls"
    assert float(told[told.index("auto") + 1]) == pytest.approx(0.2 * float(told[0]), rel=0.01)
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    panel.focus()
    page.keyboard.press("ArrowRight")
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def suits_the_dark_paper_and_a_phone(page: Any) -> None:
    panel = page.locator(".panel").first
    line = panel.locator("svg path[style*='var(--c-c2185b)']").first
    colour = "element => getComputedStyle(element).stroke"
    bright = line.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    assert line.evaluate(colour) != bright
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    page.emulate_media(media="print", color_scheme="light")
    assert not page.locator(".filters").is_visible()
    assert panel.locator("svg").first.is_visible()
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert panel.bounding_box()["width"] > 300
