// Charts show the values of all lines at the pointer, which the arrow keys move too.
const written = value => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));

const valueAt = (line, x) => {
  const points = line.points;
  let low = 0, high = points.length - 1;  // the last point that is not beyond x
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (points[middle][0] <= x) low = middle; else high = middle - 1;
  }
  const next = points[low + 1];
  const nearer = !line.step && next && Math.abs(next[0] - x) < Math.abs(points[low][0] - x);
  return nearer ? next : points[low];
};

for (const panel of document.querySelectorAll(".panel[tabindex]")) {
  const axes = JSON.parse(panel.querySelector("script").textContent);
  const rule = Object.assign(document.createElement("div"), { className: "rule", hidden: true });
  const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  panel.append(rule, tip);

  const hide = () => { rule.hidden = tip.hidden = true; };
  const show = (axis, x) => {
    const [left, top, width, height] = axis.box, size = panel.getBoundingClientRect();
    const longest = axis.lines.reduce((a, b) => a.points.length >= b.points.length ? a : b);
    const at = longest.step ? x : valueAt(longest, x)[0];
    const share = left + width * (at - axis.x[0]) / (axis.x[1] - axis.x[0]);
    const rows = axis.lines.map(line => [valueAt(line, at)[1], line]).sort((a, b) => b[0] - a[0]);
    const title = Object.assign(document.createElement("b"), { textContent: `${written(at)} ${axis.unit}` });
    tip.replaceChildren(title, ...rows.map(([value, line]) => {
      const row = document.createElement("div"), dot = document.createElement("i"), number = document.createElement("span");
      dot.style.background = line.colour;
      number.textContent = axis.share ? `${Math.round(100 * value)}%` : written(value);
      row.append(dot, line.name, number);
      return row;
    }));
    Object.assign(rule.style, { left: `${share * 100}%`, top: `${top * 100}%`, height: `${height * 100}%` });
    rule.hidden = tip.hidden = false;
    const middle = share * size.width, room = size.left + middle + 12 + tip.offsetWidth <= document.documentElement.clientWidth;
    tip.style.left = `${room ? middle + 12 : Math.max(-size.left, middle - 12 - tip.offsetWidth)}px`;
    tip.style.top = `${top * 100}%`;
    panel.at = [axis, at];
  };

  const follow = event => {
    const size = panel.getBoundingClientRect();
    const x = (event.clientX - size.left) / size.width, y = (event.clientY - size.top) / size.height;
    const axis = axes.find(({ box: [left, top, width, height] }) =>
      x >= left && x <= left + width && y >= top && y <= top + height);
    if (axis) show(axis, axis.x[0] + (x - axis.box[0]) / axis.box[2] * (axis.x[1] - axis.x[0])); else hide();
  };
  panel.addEventListener("pointermove", follow);
  panel.addEventListener("pointerdown", follow);
  panel.addEventListener("pointerleave", hide);
  panel.addEventListener("blur", hide);
  panel.addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    const [axis, at] = panel.at ?? [axes[0], axes[0].x[step > 0 ? 0 : 1]], width = axis.x[1] - axis.x[0];
    show(axis, Math.min(axis.x[1], Math.max(axis.x[0], at + step * width / 25)));
  });
}
