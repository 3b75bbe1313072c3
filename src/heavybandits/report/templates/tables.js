// Clicking the head of a column, or pressing Enter on it, sorts by it; doing so again reverses the order.  NaN comes last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = row => {
      const cell = row.cells[place];
      return "key" in cell.dataset ? Number(cell.dataset.key.replace("inf", "Infinity")) : cell.textContent.trim();
    };
    const unknown = value => typeof value === "number" && Number.isNaN(value);
    const rows = [...body.rows].map(row => [key(row), row]);
    rows.sort(([a], [b]) => unknown(a) || unknown(b) ? unknown(a) - unknown(b)
      : sign * (typeof a === "number" && typeof b === "number" ? (a < b ? -1 : a > b ? 1 : 0)
                : String(a).localeCompare(String(b), undefined, { numeric: true })));
    body.append(...rows.map(([, row]) => row));
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  }));
}
