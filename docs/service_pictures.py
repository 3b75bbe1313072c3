"""Draw the pictures of the service's page: docs/images/experiments.png and dashboard.png.

Run ``python docs/service_pictures.py``: a server with simulated traffic of ten days is looked at in Debian's chromium.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # which knows how to run a server with a clock of its own

from services import FakeClock, Running, running  # noqa: E402

from heavybandits.service.storage import open_storage  # noqa: E402

DAYS, STEPS, PER_STEP, COLOURS = 10, 120, 80, 256
Law = Callable[[np.random.Generator, str], float]
SALES = {"bargains": (0.05, 20.0), "classics": (0.12, 40.0), "luxury": (0.01, 90.0)}
SECONDS = {"large": 2.0, "small": 1.7, "cached": 1.1}
CLICKS = {"plain": 0.10, "question": 0.13, "number": 0.10}


def sale(rng: np.random.Generator, arm: str) -> float:
    share, size = SALES[arm]
    return size * float(rng.lognormal(0.0, 0.8)) if rng.random() < share else 0.0


EXPERIMENTS: dict[str, tuple[dict[str, Any], Law]] = {
    "offers": (
        {"arms": list(SALES), "floor": 0.3,
         "hypothesis": "Classics sell better than bargains, because visitors come for the brand."}, sale
    ),
    "model-routing": (
        {"arms": list(SECONDS), "minimise": True, "floor": 0.3},
        lambda rng, arm: SECONDS[arm] * float(rng.lognormal(0.0, 0.5)),
    ),
    "email-subject": (
        {"arms": list(CLICKS), "floor": 0.3}, lambda rng, arm: float(rng.random() < CLICKS[arm])
    ),
    "search-ranking": ({"arms": ["blue", "green"], "floor": 0.2}, lambda rng, arm: float(rng.random() < 0.3)),
    "answer-times": (
        {"arms": ["eager", "steady"], "minimise": True, "goal": {"quantile": 0.95}, "floor": 0.4},
        lambda rng, arm: float(rng.lognormal(0.0, 1.4 if arm == "eager" else 0.5)),
    ),
    "headlines": ({"arms": [f"headline {n}" for n in range(40)]}, lambda rng, arm: float(rng.random() < 0.05)),
}  # fmt: skip


def play(server: Running, clock: FakeClock, name: str, spec: dict[str, Any], law: Law) -> None:
    """Let an experiment run for some days that end now."""
    rng, arms, end = np.random.default_rng(0), spec["arms"], int(time.time() * 1e6)
    share = spec.pop("floor", 0.0)
    floor = {"floor": dict.fromkeys(arms, share / len(arms))} if share else {}
    clock.now = end - DAYS * 86_400 * 1_000_000
    assert server("PUT", f"/{name}", spec | floor | {"arms": [{"name": arm} for arm in arms]}).status == 201
    for step in range(STEPS):
        clock.now = end - (DAYS * 86_400 * 1_000_000 * (STEPS - 1 - step)) // STEPS
        asked = [{"decision": {"id": f"{step}-{number}"}} for number in range(PER_STEP)]
        made = [item["body"] for item in server("POST", f"/{name}/batch", {"items": asked}).body["items"]]
        paid = [{"reward": {"decision": one["id"], "value": law(rng, one["arm"])}} for one in made]
        server("POST", f"/{name}/batch", {"items": paid})


def look(address: str, pictures: dict[str, str]) -> None:
    """Store what a browser shows at each path."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
        for name, path in pictures.items():
            page.goto(f"http://{address}{path}")
            page.goto(f"http://{address}{path}")  # by now, all rows of the list have been worked out
            drawn = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            drawn.quantize(COLOURS).save(ROOT / "docs" / "images" / f"{name}.png", optimize=True)
        chromium.close()


def main() -> None:
    """Run a server, fill it, and look at it."""
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as folder, running(open_storage(f"sqlite:///{folder}/log.db"), clock) as server:
        for name, (spec, law) in reversed(EXPERIMENTS.items()):
            play(server, clock, name, spec, law)
        clock.now = int(time.time() * 1e6)
        look(server.address, {"experiments": "/", "dashboard": "/experiments/offers"})


if __name__ == "__main__":
    main()
