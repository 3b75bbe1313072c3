"""The pictures of an experiment's page: an interval for each arm, and curves over time."""

import numpy as np
from histories import BEGIN, coins, drawn, experiment, play, played

from heavybandits.service.dashboard.curves import MOST_MOMENTS, SIZE, charts, windows
from heavybandits.service.dashboard.intervals import against_control
from heavybandits.service.dashboard.known import known
from heavybandits.service.dashboard.prepared import prepare_page
from heavybandits.service.dashboard.traffic import DAY_MICROSECONDS
from heavybandits.service.events import iso
from heavybandits.service.replicas.report import taken


def test_the_picture_has_every_arm_in_order_with_its_marks() -> None:
    shares = {"c": 0.3, "a": 0.7, "b": 0.1}
    made, bars = drawn(known(taken(played(experiment("c", "a", "b"), coins(shares, 250)))))
    assert list(bars) == ["c", "a", "b"]
    assert [bar.hue for bar in bars.values()] == [0, 1, 2]
    assert bars["c"].tags == ("control",)
    assert bars["a"].tags == ("winner",)
    assert (bars["a"].verdict, bars["b"].verdict, bars["c"].verdict) == ("better", "worse", "")
    for bar in (bars["a"], bars["b"]):
        assert bar.at is not None
        assert 0.0 <= bar.low < bar.at < bar.high <= 100.0
    assert bars["a"].low > made.zero > bars["b"].high
    assert made.title == "Lift over c"
    assert made.left_out == 0


def test_bars_that_go_on_beyond_the_picture_say_so() -> None:
    made, bars = drawn(known(taken(played(experiment("blue", "green"), coins({"blue": 0.04, "green": 0.05}, 400)))))
    assert bars["green"].open_right
    assert not bars["green"].open_left
    assert bars["green"].verdict == ""
    assert made.ends == ("earns less", "earns more")


def test_the_cap_is_named_and_signed_rewards_are_compared_by_differences() -> None:
    rng = np.random.default_rng(0)
    spread = [(name, float(rng.normal(mean, 2.0))) for _ in range(300) for name, mean in {"a": 0.0, "b": 1.0}.items()]
    made, bars = drawn(known(taken(played(experiment("a", "b"), spread))))
    assert made.title.startswith("Difference to a, counting from -")
    assert not made.is_lift
    assert bars["b"].verdict == "better"
    heavy = [(name, float(rng.pareto(1.5))) for _ in range(300) for name in ("a", "b")]
    assert drawn(known(taken(played(experiment("a", "b"), heavy))))[0].title.startswith(
        "Lift over a, counting at most "
    )
    medians = known(taken(played(experiment("a", "b", goal="location"), spread)))
    assert drawn(medians)[0].title == "Difference in the median to a"


def test_of_many_arms_the_best_are_drawn() -> None:
    shares = {f"arm {number}": 0.01 * (number + 1) for number in range(40)}
    made, bars = drawn(known(taken(played(experiment(*shares), coins(shares, 60)))))
    assert len(bars) == 11
    assert "arm 0" in bars
    assert made.left_out == 29


def test_there_is_no_picture_of_nothing() -> None:
    assert against_control(known(taken(played(experiment("a", "b"), [])))) is None
    assert against_control(known(taken(played(experiment("a"), coins({"a": 0.5}, 100))))) is None


def test_curves_have_their_names_at_their_ends() -> None:
    replica = played(experiment("a", "b"), [])
    assert charts(known(taken(replica))) == []
    for second in range(20):
        for _ in range(3 if second < 10 else 1):
            play(replica, "a", 1.0, BEGIN + second * 1_000_000)
        play(replica, "b", 3.0, BEGIN + second * 1_000_000)
    share, estimate = charts(known(taken(replica)))
    assert [(line.name, line.latest) for line in share.lines] == [("a", "50%"), ("b", "50%")]
    assert share.lines[0].path.startswith("M0 250L")
    assert share.lines[0].path.endswith("L1000 500")
    assert [(line.name, line.latest) for line in estimate.lines] == [("b", "3.00"), ("a", "1.00")]
    play(replica, "a", 1.0, BEGIN + 20 * 1_000_000)  # a span that has only begun says little
    assert [line.latest for line in charts(known(taken(replica)))[0].lines] == ["67%", "33%"]


def test_a_picture_tells_its_values_in_words() -> None:
    replica = played(experiment("a", "b"), [])
    for hour in range(100):
        for number in range(10):
            play(replica, "b" if 10 * number < hour else "a", 1.0, BEGIN + hour * 3_600_000_000)
    share, estimate = charts(known(taken(replica)))
    for chart in (share, estimate):
        ends = [one.x + one.width for one in chart.moments]
        assert [0, *ends] == [*(one.x for one in chart.moments), SIZE]  # they fill the picture
        assert 20 <= len(chart.moments) <= MOST_MOMENTS
        assert chart.moments[-1].values == [line.latest for line in chart.lines]
    spans = {iso(span.start)[:16].replace("T", " "): span.arms for span in replica.totals.spans}
    for one in share.moments[:-1]:
        made = [spans[one.time].get(line.name, [0.0])[0] for line in share.lines]
        assert one.values == [f"{count / sum(made):.0%}" for count in made]


def test_a_window_shows_the_latest_spans_only() -> None:
    replica = played(experiment("a", "b"), [])
    for hour in range(20):
        play(replica, "ab"[hour % 2], 1.0, BEGIN + hour * 3_600_000_000)
    assert windows(known(taken(replica))) == []
    assert "Last day" not in prepare_page(taken(replica)).live
    for hour in range(20, 300):
        play(replica, "ab"[hour % 2], 1.0, BEGIN + hour * 3_600_000_000)
    found, page = known(taken(replica)), prepare_page(taken(replica))
    assert windows(found) == [*page.windows] == ["day", "week"]
    [whole, _], [day, _] = charts(found), charts(found, "day")
    hours = (replica.totals.last_t - BEGIN) / 3_600_000_000
    assert hours == 299
    assert (day.end, [line.latest for line in day.lines]) == (whole.end, [line.latest for line in whole.lines])
    assert day.begin >= iso(replica.totals.last_t - DAY_MICROSECONDS)[:16].replace("T", " ") > whole.begin
    assert 'aria-current="true">Last day</a>' in page.windows["day"]
    assert 'aria-current="true">All</a>' in page.live
    assert page.live.partition("Over time")[0] == page.windows["day"].partition("Over time")[0]
