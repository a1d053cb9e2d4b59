"use strict";
// Search, filters and sorting of the table of models. The address has the state after #, so that it can be shared.
(async () => {
  const table = document.getElementById("models");
  const body = table.tBodies[0];
  const form = document.getElementById("search");
  const fields = Object.fromEntries(["query", "family", "mechanism", "kind"].map((id) => [id, document.getElementById(id)]));
  const answer = await fetch("models.json").catch(() => ({ ok: false }));
  if (!answer.ok) return; // the table works without it
  const facts = new Map((await answer.json()).map((model) => [model.path, model]));
  const other = { mla: "latent attention", moe: "experts", gqa: "grouped-query attention", mqa: "multi-query attention", swa: "sliding window", rope: "rotary positions", ssm: "state-space mixer", mamba: "state-space mixer", swiglu: "gated mlp" };
  const rows = [...body.rows].map((row, place) => {
    const model = facts.get(row.querySelector("a").getAttribute("href"));
    const words = [model.name, model.title, model.hub, model.family, model.size, ...(model.mechanisms || [])];
    return { row, place, model, words: words.filter(Boolean).join(" ").toLowerCase(), names: [model.name, model.title, model.hub].filter(Boolean).map((name) => name.toLowerCase()) };
  });
  let sorted = { key: "", down: false };

  // A word matches at the start of a word, a size such as 7b as a whole, and an abbreviation as its mechanism.
  const matches = (each, word) => {
    if (/^[\d.]+[kmbt]$/.test(word)) {
      const size = (each.model.size || "").toLowerCase();
      const close = word.includes(".") ? size : `${Math.round(parseFloat(size))}${size.slice(-1)}`;
      return size === word || close === word || each.names.some((name) => name.split(/[-_/ ]/).includes(word));
    }
    return each.words.includes(word) || (word in other && each.words.includes(other[word]));
  };

  const show = () => {
    const words = fields.query.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const { family, mechanism, kind } = fields;
    let count = 0;
    for (const each of rows) {
      const { model } = each;
      const shown = words.every((word) => matches(each, word))
        && (!family.value || model.family === family.value)
        && (!mechanism.value || (model.mechanisms || []).includes(mechanism.value))
        && (!kind.value || model.kind === kind.value);
      each.row.hidden = !shown;
      count += shown;
    }
    document.getElementById("found").textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} models`;
  };

  const order = () => {
    const { key, down } = sorted;
    const value = ({ model }) => key === "name" ? (model.title || model.name).toLowerCase() : key === "active" ? model.active ?? model.params : model[key];
    const by = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a.place - b.place;
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a.place - b.place;
    };
    const list = key ? [...rows].sort(by) : rows;
    body.append(...list.map((each) => each.row));
    for (const head of table.tHead.querySelectorAll("th[data-key]")) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };

  const remember = () => {
    const state = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) if (field.value) state.set(name, field.value);
    if (sorted.key) state.set("sort", (sorted.down ? "-" : "") + sorted.key);
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  };

  const recall = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of Object.entries(fields)) field.value = state.get(name) || "";
    const sort = state.get("sort") || "";
    sorted = { key: sort.replace("-", ""), down: sort.startsWith("-") };
    if (!table.tHead.querySelector(`th[data-key="${CSS.escape(sorted.key)}"]`)) sorted = { key: "", down: false };
    order();
    show();
  };

  for (const head of table.tHead.querySelectorAll("th[data-key]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const { key } = head.dataset;
      sorted = sorted.key === key ? { key, down: !sorted.down } : { key, down: key !== "name" };
      order();
      remember();
    });
  }
  // Two chosen models are compared.
  const compare = document.getElementById("compare");
  const chosen = [];
  const slug = (model) => model.path.replace(/^models\//, "").replace(/\.html$/, "");
  for (const { row, model } of rows) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `Compare ${model.name}`);
    row.cells[0].prepend(box, " ");
    box.addEventListener("change", () => {
      if (box.checked) chosen.push({ box, model });
      else chosen.splice(chosen.findIndex((each) => each.box === box), 1);
      while (chosen.length > 2) chosen.shift().box.checked = false;
      compare.hidden = chosen.length < 2;
      if (chosen.length === 2) {
        compare.href = `compare.html?${new URLSearchParams({ a: slug(chosen[0].model), b: slug(chosen[1].model) })}`;
        compare.textContent = `Compare ${chosen[0].model.name} and ${chosen[1].model.name}`;
      }
    });
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { show(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { sorted = { key: "", down: false }; order(); show(); remember(); }));
  addEventListener("hashchange", recall);
  recall();
})();
