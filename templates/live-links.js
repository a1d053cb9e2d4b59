"use strict";
// The links of a live page: a row of the chart, a term of the formula and a box of the figure light up together where
// they share rows of the formula. Hovering or focusing one lights the others; a click keeps the light on.
const links = (() => {
  const root = document.getElementById("live"), place = document.getElementById("drawing");
  const marked = document.querySelector("main [data-mark]"), svg = marked && marked.closest("svg").cloneNode(true);
  let kept = null;

  const rowsOf = (node) => new Set((node.dataset.rows || "").split(" ").filter(Boolean));
  function light(node) {
    const rows = node ? rowsOf(node) : new Set();
    for (const each of root.querySelectorAll("[data-rows]")) each.classList.toggle("lit", [...rowsOf(each)].some((row) => rows.has(row)));
  }
  function keep(node) {
    kept = node === kept ? null : node;
    for (const each of root.querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", String(kept !== null && each.closest("[data-rows]") === kept));
    light(kept);
  }
  const near = (event) => event.target instanceof Element && event.target.closest("[data-rows]");
  for (const kind of ["pointerover", "focusin"]) root.addEventListener(kind, (event) => { if (near(event)) light(near(event)); });
  for (const kind of ["pointerout", "focusout"]) root.addEventListener(kind, (event) => { if (near(event)) light(kept?.isConnected ? kept : null); });
  root.addEventListener("click", (event) => { if (near(event)) keep(near(event)); });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && kept) keep(kept);
    if (!event.target.matches?.("[role=button][data-rows]") || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    keep(near(event));
  });

  // Show a copy of the figure next to the chart, with boxes that can be focused.
  function open(sheet) {
    if (!svg || !sheet.figure.length) return;
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", "Figure: the boxes of the model");
    const names = new Map(sheet.figure.map(([key, words, , rows]) => [key, [words, rows]]));
    for (const box of svg.querySelectorAll("[data-mark^='box ']")) {
      const [words, rows] = names.get(box.dataset.mark.slice(4)) ?? ["", []];
      if (!rows.length) continue;
      for (const [name, value] of Object.entries({ tabindex: "0", role: "button", "aria-pressed": "false", "aria-label": words, "data-rows": rows.join(" ") })) box.setAttribute(name, value);
    }
    place.append(svg, draw.el("figcaption", { role: "status" }));
    place.hidden = false;
  }

  // Write the current amounts into the figure. It shows the formula of the derivation, so other settings have no amounts.
  function update(sheet, { form, number, numbers }) {
    place.hidden = !svg || !sheet.figure.length || sheet.tab > 0;  // the figure is that of the first quantity
    if (place.hidden) return;
    const own = form === exact.form(sheet, exact.begin(sheet, 0));
    svg.classList.toggle("other", !own);
    place.lastChild.textContent = own ? "Point at a box, a row of the table or a term of the formula to see what belongs together." : "The figure shows the settings of the derivation below, which differ from the current ones, so it has no numbers.";
    const at = (tree) => { const found = own && number ? exact.at(sheet.trees[tree], numbers) : null; return Array.isArray(found) ? found : null; };
    for (const [key, , row] of [...sheet.figure, ["", "", null]]) {
      const [, copies, each] = row === null ? [] : sheet.rows[row];
      const one = row === null ? (own && number) || null : at(each), count = row === null ? [1n, 1n] : at(copies);
      const all = one && count ? exact.times(one, count) : null;
      for (const text of svg.querySelectorAll(`[data-mark="amount ${CSS.escape(key)}"]`)) {
        const share = all ? exact.percent(all, number) : "";
        text.textContent = !all ? "" : key ? `${exact.spelt(one)} · ${share}` : `${exact.spelt(all)} ${sheet.unit}`;
        if (key && all && crowded(text)) text.textContent = share;
      }
      for (const bar of svg.querySelectorAll(`[data-mark="bar ${CSS.escape(key)}"]`)) {
        const room = Number(bar.previousElementSibling.getAttribute("width"));
        bar.setAttribute("width", all && number[0] > 0n ? String(room * Number(exact.rounded(exact.times(all, exact.over(number[1], number[0])), 4)) / 10000) : "0");
      }
    }
  }
  // Whether a text covers another one, because its number is longer than the one that was drawn.
  function crowded(text) {
    const a = text.getBBox();
    return [...svg.querySelectorAll("text")].some((other) => {
      if (other === text || !other.textContent) return false;
      const b = other.getBBox();
      return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height - 1 && b.y < a.y + a.height - 1;
    });
  }

  return { open, update };
})();
