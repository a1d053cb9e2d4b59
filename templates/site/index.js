"use strict";
// Search, filters and sorting of all models. The table holds the architectures until a search begins; its rows are those
// of models_table.html.jinja. The address has the state after #, so that it can be shared.
(async () => {
  const SHOWN = 200; // rows at once; a button shows the others
  const table = document.getElementById("models");
  const body = table.tBodies[0];
  const form = document.getElementById("search");
  const more = document.getElementById("more");
  const fields = Object.fromEntries(["query", "family", "mechanism", "kind"].map((id) => [id, document.getElementById(id)]));
  const answer = await fetch("models.json").catch(() => ({ ok: false }));
  if (!answer.ok) return; // the table works without it
  const data = await answer.json();
  const other = { mla: "latent attention", moe: "experts", mha: "multi-head attention", gqa: "grouped-query attention", mqa: "multi-query attention", swa: "sliding window", rope: "rotary positions", ssm: "state-space mixer", mamba: "state-space mixer", swiglu: "gated mlp" };
  const slug = (name) => name.replace(/[^A-Za-z0-9._-]+/g, "-");
  const models = data.models.map((row, place) => {
    const model = Object.fromEntries(data.row.map((name, column) => [name, row[column]]));
    model.kind = data.kinds[model.kind];
    model.family = data.families[model.family];
    model.mechanisms = model.mechanisms.map((each) => data.mechanisms[each]);
    const names = [model.name, model.title, model.hub].filter(Boolean).map((name) => name.toLowerCase());
    return { ...model, place, names, words: [...names, model.family, model.size, ...model.mechanisms].filter(Boolean).join(" ").toLowerCase() };
  });
  const presets = new Map();
  for (const { kind, family } of models) if (kind === "preset") presets.set(family, (presets.get(family) || 0) + 1);
  let sorted = { key: "", down: false };
  let limit = SHOWN;

  // A word matches at the start of a word, a size such as 7b as a whole, and an abbreviation as its mechanism.
  const matches = (model, word) => {
    if (/^[\d.]+[kmbt]$/.test(word)) {
      const size = (model.size || "").toLowerCase();
      const close = word.includes(".") ? size : `${Math.round(parseFloat(size))}${size.slice(-1)}`;
      return size === word || close === word || model.names.some((name) => name.split(/[-_/ ]/).includes(word));
    }
    return model.words.includes(word) || (word in other && model.words.includes(other[word]));
  };

  const element = (name, attributes, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };

  const compare = document.getElementById("compare");
  const chosen = [];
  const choose = (model, box) => {
    if (box.checked) chosen.push({ box, model });
    else chosen.splice(chosen.findIndex((each) => each.model === model), 1);
    while (chosen.length > 2) chosen.shift().box.checked = false;
    compare.hidden = chosen.length < 2;
    if (chosen.length === 2) {
      const [a, b] = chosen.map((each) => each.model.name);
      compare.href = `compare.html?${new URLSearchParams({ a: slug(a), b: slug(b) })}`;
      compare.textContent = `Compare ${a} and ${b}`;
    }
  };

  const rows = new Map(); // made when they are first shown
  const row = (model) => {
    if (rows.has(model)) return rows.get(model);
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${model.name}` });
    box.addEventListener("change", () => choose(model, box));
    const path = `models/${slug(model.name)}.html`;
    const head = element("th", { scope: "row" }, box, " ", element("a", { href: path }, model.title || model.name));
    const name = model.hub || (model.title ? model.name : "");
    if (name) head.append(" ", element("small", {}, name));
    const count = model.kind === "architecture" ? presets.get(model.family) : 0;
    if (count) head.append(" ", element("small", {}, element("a", { href: `${path}#relatives` }, `${count} preset${count > 1 ? "s" : ""}`)));
    const numbers = [model.params, model.active, model.layers, model.width].map((number) => number?.toLocaleString("en") || "");
    const cells = [...numbers, model.year || ""].map((text) => element("td", { class: "right" }, text));
    const said = model.mechanisms.join(", ") || (model.kind === "class" ? "not stated" : "");
    const made = element("tr", { "data-kind": model.kind }, head, ...cells, element("td", { class: "wraps" }, element("small", {}, said)));
    rows.set(model, made);
    return made;
  };

  const value = (model) => ({ name: (model.title || model.name).toLowerCase(), active: model.active ?? model.params })[sorted.key] ?? model[sorted.key];
  const by = (a, b) => {
    const [x, y] = [value(a) ?? undefined, value(b) ?? undefined];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a.place - b.place;
    return (x < y ? -1 : x > y ? 1 : 0) * (sorted.down ? -1 : 1) || a.place - b.place;
  };

  const show = () => {
    const words = fields.query.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const [family, mechanism, kind] = [fields.family.value, fields.mechanism.value, fields.kind.value];
    const all = words.length || family || mechanism || kind || !presets.size;
    const others = models.filter((model) => (all ? !kind || kind === "all" || model.kind === kind : model.kind === "architecture")
      && (!family || model.family === family) && words.every((word) => matches(model, word)));
    const found = mechanism ? others.filter((model) => model.mechanisms.includes(mechanism)) : others;
    if (sorted.key) found.sort(by);
    body.replaceChildren(...found.slice(0, limit).map(row));
    const number = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
    more.hidden = found.length <= limit;
    more.firstElementChild.textContent = `Show all ${number(found.length, "model")}`;
    const unknown = mechanism ? others.filter((model) => model.kind === "class" && !model.mechanisms.includes(mechanism)).length : 0;
    const said = all ? `${found.length.toLocaleString("en")} of ${number(models.length, "model")}` : `${number(found.length, "architecture")}; search or filter all ${number(models.length, "model")}`;
    document.getElementById("found").textContent = unknown ? `${said}; not stated for ${number(unknown, "class").replace("classs", "classes")}` : said;
    for (const head of table.tHead.querySelectorAll("th[data-key]")) {
      if (head.dataset.key === sorted.key) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
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
    for (const [name, field] of Object.entries(fields)) {
      field.value = state.get(name) || "";
      if (field.selectedIndex === -1) field.value = ""; // an address with an option that this site does not have
    }
    const sort = state.get("sort") || "";
    sorted = { key: sort.replace("-", ""), down: sort.startsWith("-") };
    if (!table.tHead.querySelector(`th[data-key="${CSS.escape(sorted.key)}"]`)) sorted = { key: "", down: false };
    limit = SHOWN;
    show();
  };

  const changed = () => { limit = SHOWN; show(); remember(); };
  for (const head of table.tHead.querySelectorAll("th[data-key]")) {
    const button = element("button", { type: "button", class: "sort" }, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const { key } = head.dataset;
      sorted = sorted.key === key ? { key, down: !sorted.down } : { key, down: key !== "name" };
      changed();
    });
  }
  more.firstElementChild.addEventListener("click", () => { limit = Infinity; show(); });
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  form.addEventListener("reset", () => setTimeout(() => { sorted = { key: "", down: false }; changed(); }));
  addEventListener("hashchange", recall);
  recall();
})();
