// Draws the curves, and redraws them whenever htmx has fetched newer numbers.
(() => {
  const charts = {};

  const newest = () => JSON.parse(document.getElementById("series").dataset.series);

  const ink = () => getComputedStyle(document.body).color;

  const shown = (value) => (value == null ? "-" : Number(value.toPrecision(3)).toString());

  function draw(id, series, columns, times) {
    const place = document.getElementById(id);
    const data = [times, ...columns];
    const shape = series.map((one) => one.label + one.stroke + one.dash).join("|") + ink();
    if (charts[id]?.shape === shape) {
      charts[id].plot.setData(data);
      return;
    }
    charts[id]?.plot.destroy();
    const axis = { stroke: ink, grid: { stroke: "#8886" , width: 0.5 }, ticks: { stroke: "#8886", width: 0.5 } };
    const plot = new uPlot({
      width: place.clientWidth, height: 220,
      axes: [axis, { ...axis, size: 60, values: (_, ticks) => ticks.map(shown) }],
      series: [{}, ...series.map((one) => ({ ...one, width: 2, points: { show: times.length < 3 }, value: (_, v) => shown(v) }))],
    }, data, place);
    charts[id] = { plot, shape };
  }

  function update() {
    const { t, arms, cost } = newest();
    const lines = arms.map((arm) => ({ label: arm.name, stroke: arm.hue, dash: arm.dash }));
    draw("chart-share", lines, arms.map((arm) => arm.share), t);
    draw("chart-estimate", lines, arms.map((arm) => arm.estimate), t);
    if (document.getElementById("chart-cost")) draw("chart-cost", [{ label: "cost", stroke: "#c2185b" }], [cost], t);
  }

  // The numbers are refreshed every two seconds; what a reader has opened stays open, and the table stays where it was.
  let open = false;
  let place = [0, 0];
  document.addEventListener("htmx:beforeSwap", () => {
    const table = document.getElementById("arms");
    open = document.getElementById("largest")?.open ?? open;
    place = [table.scrollLeft, table.scrollTop];
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "live") return;
    const largest = document.getElementById("largest");
    if (largest) largest.open = open;
    document.getElementById("arms").scrollTo(...place);
    update();
  });
  addEventListener("resize", () => {
    for (const [id, { plot }] of Object.entries(charts)) {
      plot.setSize({ width: document.getElementById(id).clientWidth, height: 220 });
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
})();
