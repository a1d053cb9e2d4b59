"use strict";
// The fields, switches and charts of a live page. The arithmetic and the elements are in the scripts before this one.
(() => {
  const whole = exact.open(JSON.parse(document.getElementById("sheet").textContent));
  const root = document.getElementById("live"), most = BigInt(whole.most);
  const { DRAWING, made, el, m, sub, shown, math, terms, words, equals } = draw;
  draw.open(whole.sizes);
  links.open(whole);
  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
  const measured = () => m("math", sub(...sheet.letter));

  let { sheet, state, said } = exact.restore(whole, location.hash);
  let step = 0;
  const modelOf = (side) => sheet.models[side.model];
  const formOf = (side) => exact.form(sheet, side);

  // Each field is created once per form and reused, so that typing and dragging are never interrupted.
  const panels = [];
  function panel(number) {
    const side = state.sides[number], model = modelOf(side), form = formOf(side);
    const id = (name) => `side${number}-${name}`;
    const legend = state.sides.length > 1 ? `${number ? "Second" : "First"}: ` : "";
    const fields = new Map();
    const head = el("h3", {}, `${legend}${model.title}`);
    const controls = el("div", { class: "controls" });
    if (sheet.models.length > 1) {
      const choice = el("select", { id: id("model") }, ...sheet.models.map((each, place) => el("option", { value: String(place), selected: place === side.model }, each.name)));
      choice.addEventListener("change", () => { state.sides[number] = exact.begin(sheet, Number(choice.value)); rebuild(id("model")); });
      controls.append(el("p", {}, el("label", { for: id("model") }, "Model"), " ", choice));
    }
    const choice = el("select", { id: id("preset") }, el("option", { value: "" }, "custom sizes"), ...model.presets.map((each) => el("option", { value: each.name }, each.name)));
    choice.addEventListener("change", () => {
      const preset = model.presets.find((each) => each.name === choice.value);
      if (!preset) return;
      side.preset = preset.name;
      Object.assign(side.options, preset.options);
      for (const [name, n] of Object.entries(preset.numbers)) side.typed.set(name, exact.group(BigInt(n)));
      rebuild(id("preset"));
    });
    if (model.presets.length) controls.append(el("p", {}, el("label", { for: id("preset") }, "Preset"), " ", choice));
    for (const turned of model.switches) {
      const values = turned.option ? side.options : side.at;
      const set = el("fieldset", {}, el("legend", {}, turned.name));
      turned.values.forEach((value, place) => {
        const own = id(`${turned.name}-${place}`);
        const input = el("input", { type: "radio", name: id(turned.name), id: own, checked: values[turned.name] === value });
        input.addEventListener("change", () => { values[turned.name] = value; rebuild(own); });
        set.append(el("label", { for: own, ...(turned.says[place] ? { title: turned.says[place] } : {}) }, input, ` ${value}`));
      });
      controls.append(set);
    }
    const sizes = el("div", { class: "sizes" });
    for (const name of form.asks ?? []) {
      const size = sheet.sizes[name], where = model.places[name];
      const field = el("input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", id: id(name), "aria-describedby": `${id(`${name}-wrong`)} ${id(`${name}-result`)}` });
      const slider = el("input", { type: "range", min: "0", step: "1", "aria-label": `${name}, ${size.meaning}` });
      const wrong = el("p", { class: "wrong", id: id(`${name}-wrong`), hidden: true });
      const result = el("p", { class: "result", id: id(`${name}-result`), hidden: true });
      field.value = side.typed.get(name) ?? "";
      const typed = (text) => { side.typed.set(name, text); refresh(); };
      field.addEventListener("input", () => typed(field.value));
      field.addEventListener("change", () => {
        const { number: n } = exact.read(field.value, most);
        if (n !== null && !Array.isArray(entry.parse(field.value).tree)) field.value = exact.group(n);
      });
      slider.addEventListener("input", () => {
        field.value = exact.group(fields.get(name).steps[Number(slider.value)]);
        typed(field.value);
      });
      const about = el("label", { for: id(name) }, m("math", ...shown(name)), el("span", {}, ` ${size.meaning}`), where ? el("code", {}, where) : "");
      sizes.append(el("div", { class: "size" }, about, field, slider, wrong, result));
      fields.set(name, { field, slider, wrong, result, steps: [] });
    }
    const given = el("div", { class: "follows" });
    const formula = el("div", { class: "formula", role: "group", "aria-label": "Formula", tabindex: "0" });
    const conditions = el("ul", { class: "conditions" });
    const node = el("section", { class: "panel", "aria-label": `${legend}${model.title}` }, head, controls, sizes, given, form.refused ? "" : el("div", { class: "answer" }, formula), el("details", {}, el("summary", {}, "Conditions"), conditions));
    if (!form.refused) {
      const lines = [form.factored === undefined ? null : form.factored, form.written];
      const trees = JSON.stringify(sheet.trees[lines[0]]) === JSON.stringify(sheet.trees[lines[1]]) ? [lines[1]] : lines;
      trees.forEach((tree, place) => formula.append(el("p", { ...(place ? { class: "polynomial" } : {}) }, place ? "" : measured(), " ", equals(), " ", ...(tree === form.written && !number ? linked(form) : math(sheet.trees[tree])))));
    }
    return { node, choice, fields, given, conditions, model, total: total(number) };
  }

  // The polynomial, with terms that light up the rows and boxes that they come from.
  function linked(form) {
    const tree = sheet.trees[form.written];
    if (!Array.isArray(tree) || tree[0] !== "+" || form.links.terms.length !== tree.length - 1) return math(tree);
    return terms(tree).flatMap((term, place) => {
      term.setAttribute("aria-hidden", "true");
      return [el("wbr"), el("span", { role: "button", tabindex: "0", "aria-pressed": "false", "data-rows": form.links.terms[place].join(" ") }, el("span", { class: "unseen" }, `term ${words(tree[place + 1])}`), term)];
    });
  }

  // The total of a side, in the bar that stays in view.
  function total(number) {
    const value = el("output", { class: "value", "aria-live": "polite" }), near = el("span", { class: "unit" }), faults = el("div", { class: "faults", role: "status" });
    const before = state.sides.length > 1 ? el("span", { class: "side" }, `${number ? "Second" : "First"}: ${modelOf(state.sides[number]).title}`) : "";
    return { node: el("div", { class: "total" }, before, measured(), " ", equals(), " ", value, " ", near, faults), value, near, faults };
  }

  function show(place, found) {
    const side = state.sides[place], { choice, fields, given, conditions, model, total: { node, value, near, faults } } = panels[place];
    const { form } = found;
    const away = exact.foreign(sheet, side), own = exact.presets(sheet, side).filter((each) => exact.hasSizes(each, sheet, side, found.given));
    const preset = away ? null : own.find((each) => exact.hasOptions(each, side));
    choice.value = preset ? preset.name : "";
    choice.options[0].textContent = away ? `${away.name}, not on this tab` : own.length ? `${own[0].name}, changed options` : "custom sizes";
    for (const [name, each] of fields) {
      const fault = found.wrong.find(([size]) => size === name);
      each.wrong.hidden = !fault;
      each.wrong.textContent = fault ? fault[1] : "";
      each.field.setAttribute("aria-invalid", String(Boolean(fault)));
      each.steps = exact.ladder(form, sheet, found.given, name);
      const now = found.given.get(name) ?? null;
      each.result.hidden = now === null || !Array.isArray(entry.parse(side.typed.get(name) ?? "").tree);
      each.result.textContent = each.result.hidden ? "" : `= ${exact.group(now)}`;
      each.slider.max = String(Math.max(0, each.steps.length - 1));
      each.slider.value = String(now === null ? 0 : each.steps.indexOf(now));
      each.slider.setAttribute("aria-valuetext", now === null ? "no value" : exact.group(now));
    }
    given.replaceChildren(...(form.given ?? []).map(([name, tree]) => {
      const n = found.numbers.get(name);
      return el("p", {}, m("math", ...shown(name)), " ", equals(), " ", ...math(sheet.trees[tree]), n === undefined ? "" : ` = ${exact.group(n)}`);
    }));
    if (form.ranks) {
      const [tree, said] = form.ranks, n = exact.at(sheet.trees[tree], found.numbers);
      given.append(el("p", { class: "ranks" }, "ranks = ", ...math(sheet.trees[tree]), Array.isArray(n) ? ` = ${exact.group(n[0])}` : "", `: ${said} All amounts are per rank.`));
    }
    value.textContent = found.number ? exact.spelt(found.number) : "no value";
    node.classList.toggle("none", !found.number);
    const short = found.number ? exact.prefixed(found.number, sheet.unit) : "";
    near.textContent = found.number ? `${sheet.unit}${short && `, ${short}`}` : "";
    const lacking = (found.missing ?? []).filter((name) => !found.wrong.some(([size]) => size === name));
    const told = [...found.wrong.map(([name, fault]) => `${name}: ${fault}`), ...(found.said ?? [])];
    if (lacking.length) told.push(`set a value for ${lacking.map((name) => `${name} (${sheet.sizes[name]?.meaning ?? "a size"})`).join(", ")}`);
    faults.replaceChildren(...told.map((each) => el("p", {}, each)));
    conditions.replaceChildren(...(form.conditions ?? []).map((each) => {
      const condition = sheet.conditions[each], known = condition.of.every((tree) => exact.at(sheet.trees[tree], found.numbers) !== null);
      const mark = exact.broken(condition, sheet, found.numbers) ? "✗ violated: " : known ? "✓ holds: " : "– not checked: ";
      return el("li", {}, mark, condition.holds);
    }));
    conditions.parentNode.hidden = !(form.conditions ?? []).length;
  }

  // The chart: one row per part, with the numbers and one bar per side.
  const VIEWS = { parts: "by part", purposes: "by purpose", rows: "row by row" };
  const itemsOf = (form, by) => (form[by] ?? []).map((row) => sheet.rows[row]).map(([name, ...trees]) => [name, trees.map((tree) => sheet.trees[tree])]);
  // The name of an item; the part that has no name of its own lists the rows that it consists of.
  function label(form, by, name) {
    const place = itemsOf(form, by).findIndex(([each]) => each === name), rows = itemsOf(form, "rows");
    if (by !== "parts" || name !== "other" || place < 0) return name || "the whole";
    const all = form.links.parts[place].map((row) => rows[row][0]), more = all.length - 4;
    return `other: ${more > 1 ? `${all.slice(0, 4).join(", ")} and ${more} more` : all.join(", ")}`;
  }
  function bar(share, second) {
    const wide = exact.decimal(share === null || exact.less(share, [0n, 1n]) ? [0n, 1n] : [share[0] * 100n, share[1]], 2);
    const drawn = made(DRAWING, "rect", { width: `${wide}%`, height: "100%", class: second ? "second" : "first" }, []);
    return made(DRAWING, "svg", { class: "bar", "aria-hidden": "true" }, [drawn]);
  }
  // The places of the rows by name: layers of two kinds may have rows of one name.
  function rowPlaces(form) {
    const found = new Map();
    itemsOf(form, "rows").forEach(([name], row) => found.set(name, [...(found.get(name) ?? []), row]));
    return found;
  }
  const viewsOf = (all) => Object.keys(VIEWS).filter((by) => all.some(({ form }) => (form[by] ?? []).length));
  const viewOf = (all) => (viewsOf(all).includes(state.by) ? state.by : viewsOf(all)[0]);
  function chart(all) {
    const place = document.getElementById("chart"), choice = document.getElementById("views");
    const offered = viewsOf(all), by = viewOf(all);
    if (choice.childElementCount !== offered.length) {
      choice.replaceChildren(...offered.map((each) => {
        const input = el("input", { type: "radio", name: "view", id: `view-${each}`, checked: each === by });
        input.addEventListener("change", () => { state.by = each; refresh(); });
        return el("label", { for: `view-${each}` }, input, ` ${VIEWS[each]}`);
      }));
    }
    for (const each of offered) document.getElementById(`view-${each}`).checked = each === by;
    choice.hidden = offered.length < 2;
    const told = all.map((found) => new Map(exact.shares(found, sheet, by)));
    const names = [...new Set(told.flatMap((each) => [...each.keys()]))];
    const known = told.flatMap((each) => [...each.values()]).filter(Boolean);
    const adds = all.every(({ form }) => !("over" in form));
    const largest = known.reduce((a, b) => (exact.less(a, b) ? b : a), [0n, 1n]);
    const two = all.length > 1;
    const heads = all.flatMap((_, number) => [el("th", { scope: "col", class: "right" }, two ? `${number ? "Second" : "First"}` : sheet.unit), ...(adds && !two ? [el("th", { scope: "col", class: "right" }, "Share")] : [])]);
    // The number of a cell with its share: in a column of its own, or below the number where two models stand side by side.
    const cells = (number, share) => (adds && !two ? [el("td", { class: "right" }, number), el("td", { class: "right" }, share)] : [el("td", { class: "right" }, number, adds && share ? el("span", { class: "share" }, share) : "")]);
    const linked = new Map(by === "rows" ? rowPlaces(all[0].form) : [...told[0].keys()].map((name, row) => [name, all[0].form.links?.[by]?.[row] ?? []]));
    const said = (name) => label((all.find(({ form }) => itemsOf(form, by).some(([each]) => each === name)) ?? all[0]).form, by, name);
    const named = (name) => (linked.get(name)?.length ? el("button", { type: "button", class: "plain", "aria-pressed": "false" }, said(name)) : said(name));
    const rows = names.map((name) => el("tr", linked.get(name)?.length ? { "data-rows": linked.get(name).join(" ") } : {}, el("th", { scope: "row" }, named(name)), ...told.flatMap((each, number) => {
      const value = each.get(name) ?? null, whole = all[number].number;
      return cells(value ? exact.spelt(value) : each.has(name) ? "…" : "none", value && whole ? exact.percent(value, whole) : "");
    }), el("td", { class: "bars" }, ...told.map((each, number) => bar(each.get(name) && largest[0] > 0n ? exact.times(each.get(name), exact.over(largest[1], largest[0])) : null, number)))));
    const totals = adds ? [el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Total"), ...all.flatMap(({ number }) => cells(number ? exact.spelt(number) : "no value", number ? "100.0%" : "")), el("td", {})))] : [];
    const key = two ? " The upper, filled bar is the first model; the lower, hatched bar is the second." : "";
    place.replaceChildren(el("table", {}, el("caption", {}, `${sheet.title[0].toUpperCase()}${sheet.title.slice(1)}, ${VIEWS[by]}.${key}`), el("thead", {}, el("tr", {}, el("th", { scope: "col" }, by === "rows" ? "Row" : by === "parts" ? "Part" : "Purpose"), ...heads, el("th", { scope: "col" }, el("span", { class: "unseen" }, "Bars")))), el("tbody", {}, ...rows), ...totals));
  }

  function difference(all) {
    const place = document.getElementById("difference");
    place.hidden = all.length < 2;
    if (place.hidden) return;
    const [a, b] = all.map(({ number }) => number);
    if (!a || !b) { place.textContent = "The difference needs a value on both sides."; return; }
    const apart = exact.plus(a, exact.minus(b));
    const ratio = b[0] === 0n ? "no ratio, because the second is 0" : `ratio ${exact.decimal(exact.times(a, exact.over(b[1], b[0])), 4).replace(/0+$/, "").replace(/\.$/, "")}`;
    place.textContent = `First − second: ${exact.spelt(apart)} ${sheet.unit}; ${ratio}.`;
  }

  // The derivation of the first side's number, one row at a time, with the running sum.
  function steps(found) {
    const place = document.getElementById("steps"), items = found.form.over === undefined ? itemsOf(found.form, "rows") : [];
    place.hidden = document.querySelector("nav .steps").hidden = !items.length || !found.number;
    if (place.hidden) return;
    step = Math.max(0, Math.min(step, items.length));
    const done = items.map(([, [copies, each]]) => exact.times(exact.at(copies, found.numbers), exact.at(each, found.numbers)));
    const line = (n) => done.slice(0, n).reduce(exact.plus, [0n, 1n]);
    const said = document.getElementById("step");
    document.getElementById("back").disabled = step === 0;
    document.getElementById("on").disabled = step === items.length;
    document.getElementById("which").textContent = step < items.length ? `Row ${step + 1} of ${items.length}` : `All ${count(items.length, "row")}`;
    if (step === items.length) {
      const whole = line(items.length), same = exact.spelt(whole) === exact.spelt(found.number);
      said.replaceChildren(el("p", {}, `The total is ${exact.spelt(whole)} ${sheet.unit}, which ${same ? "equals" : "does not equal"} the formula:`), el("p", {}, measured(), " ", equals(), " ", ...math(sheet.trees[found.form.written])), el("p", {}, equals(), " ", ...math(sheet.trees[found.form.written], found.numbers)), el("p", {}, equals(), ` ${exact.spelt(found.number)}`));
      return;
    }
    const [name, [copies, each]] = items[step];
    const product = copies === "1" ? each : each === "1" ? copies : ["*", copies, each];
    said.replaceChildren(el("p", {}, el("code", {}, name || "the whole"), copies === "1" ? "" : el("span", {}, ", ", ...math(copies), " copies of ", ...math(each))), el("p", {}, ...math(product), " ", equals(), " ", ...math(product, found.numbers), ` = ${exact.spelt(done[step])} ${sheet.unit}`), el("p", { class: "why" }, `${step ? `Rows 1 to ${step + 1} add up to ${exact.spelt(line(step + 1))},` : "This is"} ${exact.percent(line(step + 1), found.number)} of ${exact.spelt(found.number)}.`));
  }

  // The curves of the first side. They are drawn after everything else, so that a slider stays smooth.
  const against = document.getElementById("against");
  against.addEventListener("change", () => { state.x = against.value; refresh(); });
  for (const each of document.querySelectorAll("[name=axes]")) each.addEventListener("change", () => { state.axes = each.value; refresh(); });
  let drawing = 0;
  function plot(all) {
    const asks = all[0].form.asks ?? [], x = [state.x, "S", "C", "E"].find((name) => asks.includes(name)) ?? asks[0];
    if ([...against.options].map(({ value }) => value).join() !== asks.join()) against.replaceChildren(...asks.map((name) => el("option", { value: name }, `${name}, ${sheet.sizes[name].meaning}`)));
    against.value = x ?? "";
    for (const each of document.querySelectorAll("[name=axes]")) each.checked = each.value === (state.axes || "linear");
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => curves.show(sheet, state.sides[0], { by: viewOf(all), named: (name) => label(all[0].form, viewOf(all), name), x, log: state.axes === "log", model: modelOf(state.sides[0]).title }));
  }

  // What fits a memory: the largest value of one size, for a number of bytes.
  const grows = document.getElementById("grows"), memory = document.getElementById("memory");
  for (const [each, kind] of [[grows, "change"], [memory, "input"]]) each.addEventListener(kind, () => fits(exact.compute(sheet, state.sides[0])));
  function fits(found) {
    const asks = found.form.refused ? [] : exact.growing(found.form, sheet), place = document.getElementById("fits"), said = document.getElementById("fitting");
    place.hidden = sheet.unit !== "bytes" || !asks.length;
    if (place.hidden) return;
    const chosen = [grows.value, "S", "C"].find((name) => asks.includes(name)) ?? asks[0];
    if ([...grows.options].map(({ value }) => value).join() !== asks.join()) grows.replaceChildren(...asks.map((name) => el("option", { value: name }, `${name}, ${sheet.sizes[name].meaning}`)));
    grows.value = chosen;
    const { number: room, wrong } = exact.read(memory.value, 10n ** 18n);
    memory.setAttribute("aria-invalid", String(room === null));
    said.textContent = room === null ? wrong || "Enter a number of bytes, such as 80*10^9 or 24*2^30." : exact.fitting(sheet, state.sides[0], chosen, room);
  }

  // Update the URL, but not on every keystroke.
  let waiting = 0, written = "";
  function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      written = `#${exact.write(sheet, state)}`;
      try { history.replaceState(null, "", written); } catch { /* the URL cannot be changed here */ }
    }, 250);
  }
  function refresh(quietly) {
    const all = state.sides.map((side) => exact.compute(sheet, side));
    all.forEach((found, place) => show(place, found));
    difference(all);
    for (const id of ["breakdown", "overview", "curves"]) document.getElementById(id).hidden = all.every(({ form }) => form.refused);
    chart(all);
    steps(all[0]);
    plot(all);
    links.update(sheet, all[0]);
    fits(all[0]);
    if (!quietly) remember();
  }
  // One tab for each quantity; the arrow keys move between them.
  function tabs() {
    const place = document.getElementById("tabs"), all = whole.tabs;
    place.hidden = all.length < 2;
    if (place.hidden) return;
    const turn = (to) => {
      ({ sheet, state } = exact.turned(whole, state, to));
      step = 0;
      rebuild(`tab-${all[to].quantity}`);
    };
    place.replaceChildren(...all.map(({ quantity, title }, own) => {
      const here = own === sheet.tab;
      const each = el("button", { type: "button", role: "tab", id: `tab-${quantity}`, "aria-selected": String(here), "aria-controls": "quantity", tabindex: here ? "0" : "-1" }, title[0].toUpperCase() + title.slice(1));
      each.addEventListener("click", () => turn(own));
      each.addEventListener("keydown", ({ key }) => {
        const to = { ArrowRight: own + 1, ArrowLeft: own - 1, Home: 0, End: all.length - 1 }[key];
        if (to !== undefined) turn((to + all.length) % all.length);
      });
      return each;
    }));
    document.getElementById("quantity").setAttribute("aria-labelledby", `tab-${sheet.quantity}`);
  }
  function rebuild(focus, quietly) {
    panels.length = 0;
    tabs();
    for (const place of state.sides.keys()) panels.push(panel(place));
    document.getElementById("totals").replaceChildren(...panels.map(({ total: { node } }) => node));
    document.getElementById("sides").replaceChildren(...panels.map(({ node }) => node));
    const held = [...new Set(state.sides.flatMap((side) => modelOf(side).held))];
    const note = document.getElementById("held");
    note.hidden = !held.length;
    note.textContent = `Fixed on this tab: ${held.join(", ")}. To change ${held.length > 1 ? "them" : "it"}, generate the page again with --option.`;
    document.getElementById("compare").textContent = state.sides.length > 1 ? "Show only one" : "Compare two";
    refresh(quietly);
    if (focus) document.getElementById(focus)?.focus();
  }
  function notes(said) {
    const place = document.getElementById("notes");
    place.replaceChildren(...said.map((each) => el("p", {}, `${each[0].toUpperCase()}${each.slice(1)}.`)));
  }
  document.getElementById("compare").addEventListener("click", () => {
    if (state.sides.length > 1) state.sides.length = 1;
    else if (sheet.models.length > 1) state.sides.push(exact.begin(sheet, state.sides[0].model ? 0 : 1));
    else state.sides.push({ ...state.sides[0], at: { ...state.sides[0].at }, options: { ...state.sides[0].options }, typed: new Map(state.sides[0].typed) });
    rebuild("compare");
  });
  document.getElementById("back").addEventListener("click", () => { step--; refresh(true); });
  document.getElementById("on").addEventListener("click", () => { step++; refresh(true); });
  document.getElementById("reset").addEventListener("click", () => {
    const place = sheet.tab;
    ({ sheet, state } = exact.restore(whole, ""));
    ({ sheet, state } = exact.turned(whole, state, place));
    notes([]);
    rebuild("reset");
  });
  // Copy the link with the settings; where the clipboard is not available, show the link for copying by hand.
  document.getElementById("copy").addEventListener("click", async () => {
    const link = `${location.href.split("#")[0]}#${exact.write(sheet, state)}`;
    const place = document.getElementById("link"), field = place.querySelector("input"), copied = document.getElementById("copied");
    field.value = link;
    try {
      await navigator.clipboard.writeText(link);
      place.hidden = true;
      copied.textContent = location.protocol === "file:" ? "Link copied. It opens this file on this device." : "Link copied.";
    } catch {
      place.hidden = false;
      copied.textContent = "Copy the link below.";
      field.select();
    }
  });
  addEventListener("hashchange", () => {
    if (location.hash === written || !/[=]/.test(location.hash)) return;
    ({ sheet, state, said } = exact.restore(whole, location.hash));
    notes(said);
    rebuild("", true);
  });
  new ResizeObserver(() => plot(state.sides.map((side) => exact.compute(sheet, side)))).observe(document.getElementById("plot"));
  root.hidden = false;
  document.querySelector("nav .live").hidden = false;
  notes(/=/.test(location.hash) ? said : []);
  rebuild("", true);
})();
