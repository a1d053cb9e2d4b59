"use strict";
// Compares the facts of two models, models/NAME.json. All mathematics and phrases there are HTML of this site.
(async () => {
  const place = document.getElementById("comparison");
  const message = document.getElementById("message");
  const form = document.getElementById("choice");
  const fields = { a: document.getElementById("a"), b: document.getElementById("b") };
  const element = (name, properties = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "html") made.innerHTML = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };
  const slug = (name) => name.trim().replace(/[^A-Za-z0-9._-]+/g, "-");
  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

  // Amounts are exact: integers as numbers or digits, and fractions as text such as 5/11.
  const exact = (amount) => {
    const [top, bottom = "1"] = String(amount).split("/");
    return [BigInt(top), BigInt(bottom)];
  };
  const spelt = ([top, bottom]) => {
    const digits = grouped(String(top < 0n ? -top : top)) + (bottom === 1n ? "" : `/${grouped(String(bottom))}`);
    return (top < 0n ? "−" : "") + digits;
  };
  const less = ([a, b], [c, d]) => {
    let [top, bottom] = [a * d - c * b, b * d];
    let [x, y] = [top < 0n ? -top : top, bottom];
    while (y) [x, y] = [y, x % y];
    return [top / (x || 1n), bottom / (x || 1n)];
  };
  const ratio = ([a, b], [c, d]) => {
    const [top, bottom] = [b * c === 0n ? 0n : a * d * 10000n, b * c];
    if (bottom === 0n) return "";
    const value = Number(top / bottom) / 10000;
    return `${value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3)}×`;
  };
  const short = (amount, unit) => {
    const [top, bottom] = exact(amount);
    const value = Number(top) / Number(bottom);
    const scaled = (step, letters, last) => {
      let power = 0;
      while (power + 1 < letters.length && value / step ** power >= step) power += 1;
      return `${(value / step ** power).toPrecision(4)} ${letters[power]}${power ? last : ""}`;
    };
    const letters = ["", "k", "M", "G", "T", "P", "E"];
    if (unit !== "bytes") return `${scaled(1000, letters, "")}${unit}`;
    return `${scaled(1000, letters, "")}B (${scaled(1024, ["", "K", "M", "G", "T", "P", "E"], "i")}B)`;
  };

  const table = (head, rows, name, numeric) => element("div", { class: "table", tabindex: "0", role: "group", "aria-label": name },
    element("table", { class: "cost" },
      element("thead", {}, element("tr", {}, ...head.map((words, index) => words ? element("th", { scope: "col", ...(numeric && index ? { class: "right" } : {}) }, words) : element("td")))),
      element("tbody", {}, ...rows)));
  const row = (first, cells, kind = "") => element("tr", {}, element("th", { scope: "row", ...(first.html ? { html: first.html } : {}) }, ...(first.html ? [] : [first])),
    ...cells.map((cell) => element("td", { ...(kind ? { class: kind } : {}), ...(cell.html !== undefined ? { html: cell.html } : {}) }, ...(cell.html !== undefined ? [] : [].concat(cell)))));
  const section = (id, title, ...content) => element("section", { "aria-labelledby": id }, element("h2", { id }, title), ...content);
  const number = (value, unit) => unit ? [short(value, unit), element("small", {}, spelt(exact(value)))] : [spelt(exact(value))];
  const pair = (title, first, second, unit = "") => {
    const known = [first, second].every((each) => each !== undefined && each !== null);
    return row(title, [
      first === undefined || first === null ? "none" : number(first, unit),
      second === undefined || second === null ? "none" : number(second, unit),
      known ? [spelt(less(exact(second), exact(first)))] : "",
      known ? [ratio(exact(second), exact(first))] : "",
    ], "right");
  };

  const structure = (first, second) => {
    if (!first.structure.length || !second.structure.length) return element("p", { class: "note" }, "The structure of a class of the catalogue is not described in words; its parts are on its page.");
    // The only stack of a model is compared with the last one of the other: a decoder, or a language model.
    const last = ({ structure }) => structure[structure.length - 1][0];
    const named = (model, other) => new Map(model.structure.map(([name, parts]) => [name || last(other), new Map(parts)]));
    const both = [named(first, second), named(second, first)];
    const rows = [], same = [];
    for (const stack of new Set(both.flatMap((each) => [...each.keys()]))) {
      const [one, two] = both.map((each) => each.get(stack) || new Map());
      for (const part of new Set([...one.keys(), ...two.keys()])) {
        const [x, y] = [one.get(part) || [], two.get(part) || []];
        const title = stack ? `${part} (${stack})` : part;
        const [left, right] = [x.filter((each) => !y.includes(each)), y.filter((each) => !x.includes(each))];
        if (!left.length && !right.length) same.push(title);
        else rows.push(row(title, [left, right].map((each) => ({ html: each.join("; ") || "none" })), "wraps"));
      }
    }
    const made = rows.length ? [table(["Part", first.title, second.title], rows, "Structure")] : [];
    const note = same.length ? `${rows.length ? "The same in both" : "Both have the same structure"}: ${same.join(", ")}.` : "";
    return element("div", {}, ...made, element("p", { class: "note" }, note));
  };

  const compare = (first, second) => {
    const head = ["", first.title, second.title, "Difference", "Ratio"];
    const amounts = [pair("Parameters", first.params, second.params), pair("Active parameters", first.active ?? first.params, second.active ?? second.params)];
    const costs = [];
    const keys = new Map([...first.costs, ...second.costs].map(([key, title, unit]) => [key, [title, unit]]));
    const lengths = first.lengths.filter((each) => second.lengths.includes(each));
    for (const [key, [title, unit]] of keys) {
      const [one, two] = [first, second].map((each) => each.costs.find(([name]) => name === key)?.[3]);
      const at = (model, values, length) => values && (values.length === 1 ? (model.lengths.length < 2 && model.lengths[0] !== length && model.lengths.length ? undefined : values[0]) : values[model.lengths.indexOf(length)]);
      const varies = (one?.length ?? 1) > 1 || (two?.length ?? 1) > 1;
      if (!varies || !lengths.length) costs.push(pair(title, one?.[0], two?.[0], unit));
      else for (const length of lengths) costs.push(pair(`${title}, ${length.toLocaleString("en")} tokens`, at(first, one, length), at(second, two, length), unit));
    }
    const sizes = new Map();
    for (const [index, model] of [first, second].entries()) for (const [math, meaning, value] of model.sizes) {
      const key = `${math} ${meaning}`;
      if (!sizes.has(key)) sizes.set(key, { html: `${math} <small></small>`, meaning, values: [] });
      sizes.get(key).values[index] = value;
    }
    const rows = [...sizes.values()].filter(({ values }) => values[0] !== values[1]).map(({ html, meaning, values }) => {
      const made = pair({ html }, values[0], values[1]);
      made.cells[0].querySelector("small").textContent = meaning;
      return made;
    });
    const formulas = [...new Set([...first.formulas, ...second.formulas].map(([name]) => name))].flatMap((name) => {
      const both = [first, second].map((each) => each.formulas.find(([other]) => other === name));
      const [, title, letter] = both.find(Boolean);
      return [element("h3", {}, title[0].toUpperCase() + title.slice(1)), ...both.map((each, index) => element("p", { class: "formula", tabindex: "0", role: "group", "aria-label": `${title} of ${[first, second][index].title}` }, element("b", {}, [first, second][index].title), ": ",
        each ? element("span", { html: `<math><mi>${letter.replace(/[^A-Za-z]/g, "")[0]}</mi><mo>=</mo></math> ${each[3]}` }) : "no formula that fits this page"))];
    });
    const names = [first.name, second.name];
    const link = new URLSearchParams(["compare", ...names, "--structure"].map((each) => ["run", each]));
    place.replaceChildren(
      element("ul", { class: "actions" },
        ...[first, second].map((each) => element("li", {}, element("a", { class: "button", href: each.path }, each.title))),
        element("li", {}, element("a", { class: "button main", href: `playground.html#${link}` }, "Symbolic difference in the playground"))),
      section("amounts", "Parameters", table(head, amounts, "Parameters", true)),
      section("structure", "Structure", structure(first, second)),
      section("sizes", "Sizes that differ", rows.length ? table(head, rows, "Sizes", true) : element("p", {}, "All sizes are the same.")),
      section("costs", "Costs", table(head, costs, "Costs", true)),
      section("formulas", "Formulas", ...formulas));
    document.title = `${first.title} and ${second.title} · symformer`;
  };

  const show = async () => {
    const given = new URLSearchParams(location.search);
    for (const name of ["a", "b"]) fields[name].value = given.get(name) || "";
    message.textContent = "";
    place.replaceChildren();
    if (!given.get("a") || !given.get("b")) return;
    const facts = [];
    for (const name of [given.get("a"), given.get("b")]) {
      const answer = await fetch(`models/${encodeURIComponent(slug(name))}.json`).catch(() => null);
      if (!answer?.ok) {
        message.textContent = answer ? `${name} is not a model of this atlas; the index lists all models.` : `The facts of ${name} cannot be loaded; check the connection.`;
        return;
      }
      facts.push(await answer.json());
    }
    fields.a.value = facts[0].name;
    fields.b.value = facts[1].name;
    compare(...facts);
  };

  form.hidden = false;
  const address = () => `?${new URLSearchParams({ a: slug(fields.a.value), b: slug(fields.b.value) })}`;
  const move = (event) => { event?.preventDefault(); history.pushState(null, "", address()); show(); };
  form.addEventListener("submit", move);
  document.getElementById("swap").addEventListener("click", () => {
    [fields.a.value, fields.b.value] = [fields.b.value, fields.a.value];
    if (fields.a.value && fields.b.value) move();
  });
  addEventListener("popstate", show);
  await show();
  const data = await fetch("models.json").then((answer) => answer.json()).catch(() => ({ row: [], models: [] }));
  const [name, hub, title] = ["name", "hub", "title"].map((each) => data.row.indexOf(each));
  document.getElementById("names").append(...data.models.map((row) => element("option", { value: row[name] }, row[title] || row[hub] || "")));
})();
