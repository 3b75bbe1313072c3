// Claims can be filtered by verdict and by section; without JavaScript all of them show.
const filters = document.querySelector(".filters");
if (filters) {
  const buttons = [...filters.querySelectorAll("button")], section = filters.querySelector("select");
  const claims = [...document.querySelectorAll(".claims li")], status = filters.querySelector("[role=status]");
  let verdict = "";
  const show = () => {
    for (const claim of claims) claim.hidden = Boolean(verdict && claim.dataset.verdict !== verdict)
      || Boolean(section.value && claim.dataset.section !== section.value);
    for (const group of document.querySelectorAll(".group")) group.hidden = !group.querySelector("li:not([hidden])");
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    const left = claims.filter(claim => !claim.hidden).length;
    status.textContent = left === claims.length ? "" : `${left} of ${claims.length} shown`;
  };
  for (const button of buttons) button.addEventListener("click", () => { verdict = button.dataset.verdict; show(); });
  section.addEventListener("change", show);
  filters.hidden = false;
}

// Following a link to a folded part opens it.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", unfold);
unfold();
