// The numbers are fetched every two seconds.  If nothing has changed, nothing moves; if something has, what a reader has
// opened stays open, tables stay where they were, and a new first sentence is announced.
(() => {
  const live = document.getElementById("live");
  const sentence = () => document.getElementById("said")?.textContent ?? "";
  const label = (one) => one.getAttribute("aria-label");
  let shown = null;
  let before = { open: [], places: new Map(), said: "" };

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target !== live) return;
    if (event.detail.serverResponse === shown) {
      event.detail.shouldSwap = false;
      return;
    }
    shown = event.detail.serverResponse;
    before = {
      open: [...live.querySelectorAll("details[open]")].map((one) => one.id),
      places: new Map([...live.querySelectorAll(".scroll")].map((one) => [label(one), [one.scrollLeft, one.scrollTop]])),
      said: sentence(),
    };
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target !== live) return;
    for (const id of before.open) document.getElementById(id)?.setAttribute("open", "");
    for (const one of live.querySelectorAll(".scroll")) one.scrollTo(...(before.places.get(label(one)) ?? [0, 0]));
    if (sentence() !== before.said) document.getElementById("news").textContent = sentence();
  });
})();
