"use strict";
// Exact arithmetic of a live page, with integers and fractions of any size, and the URL that stores the state.
// A number is [numerator, denominator], without common factors and with a positive denominator.
const exact = (() => {
  const size = (n) => (n < 0n ? -n : n);
  const gcd = (a, b) => { while (b) [a, b] = [b, a % b]; return size(a); };
  const NOTHING = "a division by zero";

  function over(a, b) {
    if (b === 0n) throw NOTHING;
    if (b === 1n) return [a, b];
    const shared = gcd(a, b) * (b < 0n ? -1n : 1n);
    return [a / shared, b / shared];
  }
  const plus = ([a, b], [c, d]) => (b === d ? over(a + c, b) : over(a * d + c * b, b * d));
  const times = ([a, b], [c, d]) => over(a * c, b * d);
  const less = ([a, b], [c, d]) => a * d < c * b;
  const floor = ([a, b]) => [a / b - (a % b < 0n ? 1n : 0n), 1n];
  const minus = ([a, b]) => [-a, b];

  // Read a sheet: an integer in a tree is the index of an earlier tree.
  function open(told) {
    const trees = [];
    for (const each of told.trees) trees.push(Array.isArray(each) ? each.map((part) => (typeof part === "number" ? trees[part] : part)) : each);
    const whole = { ...told, trees };
    for (const { models } of told.tabs ?? []) {
      for (const model of models) {
        model.presets = pairs(told.lists[model.presets]).map(([preset, at]) => {
          const [name, sizes, ...values] = told.presets[preset];
          return { name, options: told.lists[at], numbers: Object.fromEntries(told.lists[sizes].map((size, place) => [size, values[place]])) };
        });
        model.forms = model.forms.map((each) => (each.refused ? each : formed(each, told.lists)));
      }
    }
    return told.tabs ? tab(whole, 0) : whole;
  }
  const pairs = (list) => list.flatMap((each, place) => (place % 2 ? [] : [[each, list[place + 1]]]));
  const LISTS = ["asks", "needs", "given", "conditions", "rows", "parts", "purposes"], LINKS = ["parts", "purposes", "terms"];
  function formed([factored, written, ...others], lists) {
    const named = (names, from) => Object.fromEntries(names.map((name, place) => [name, lists[others[from + place]]]));
    return { factored, written, ...named(LISTS, 0), links: named(LINKS, LISTS.length), ...others[LISTS.length + LINKS.length] };
  }
  // Return the sheet of one quantity.
  const tab = (sheet, place) => ({ ...sheet, ...sheet.tabs[place], tab: place });

  // Return the value of a tree, or null if a size has no value. Throws NOTHING.
  function value(tree, numbers) {
    if (typeof tree === "string") {
      if (/^[0-9]/.test(tree)) return [BigInt(tree), 1n];
      return numbers.has(tree) ? [numbers.get(tree), 1n] : null;
    }
    const [done, ...inside] = tree;
    const of = inside.map((each) => value(each, numbers));
    if (of.includes(null)) return null;
    switch (done) {
      case "+": return of.reduce(plus);
      case "*": return of.reduce(times);
      case "-": return minus(of[0]);
      case "/": return times(of[0], over(of[1][1], of[1][0]));
      case "^": return over(of[0][0] ** of[1][0], of[0][1] ** of[1][0]);
      case "floor": return floor(of[0]);
      case "ceil": return minus(floor(minus(of[0])));
      case "max": return of.reduce((a, b) => (less(a, b) ? b : a));
      case "min": return of.reduce((a, b) => (less(b, a) ? b : a));
    }
    throw `unknown operation ${done}`;
  }
  const at = (tree, numbers) => { try { return value(tree, numbers); } catch (error) { if (error !== NOTHING) throw error; return error; } };

  // Return the error message of a violated condition, or "" if it holds or a size has no value.
  function broken(condition, sheet, numbers) {
    const of = condition.of.map((tree) => at(sheet.trees[tree], numbers));
    if (of.includes(null)) return "";
    const whole = !of.includes(NOTHING);
    const [a, b] = of;
    const same = whole && b && a[0] === b[0] && a[1] === b[1];
    const holds = {
      "divides": () => whole && a[0] !== 0n && over(b[0] * a[1], b[1] * a[0])[1] === 1n,
      "at most": () => whole && !less(b, a),
      "not all 1": () => of.some(([above]) => above !== 1n),
      "differ": () => !same,
      "equal": () => same,
    }[condition.kind]();
    return holds ? "" : condition.breaks.replace(/\{([01])\}/g, (_, place) => plain(of[place]));
  }
  const plain = (number) => (number === NOTHING ? number : number[1] === 1n ? `${number[0]}` : `${number[0]}/${number[1]}`);

  // Read a size: an integer, or arithmetic with integers and sizes. Return its number, or an error message.
  function read(typed, most, numbers = new Map()) {
    const { tree, wrong } = entry.parse(typed), refuse = (why) => ({ number: null, wrong: `“${entry.short(typed)}” ${why}` });
    if (!tree) return { number: null, wrong };
    const lacking = entry.sizes(tree).filter((name) => !numbers.has(name));
    if (lacking.length) return refuse(`needs a value for ${lacking.map(entry.short).join(", ")}`);
    const found = at(tree, numbers);
    if (found === NOTHING) return refuse("divides by zero");
    if (found[1] !== 1n) return refuse(`is ${entry.short(plain(found))}, which is not an integer`);
    if (found[0] < 1n || found[0] > most) return refuse(`is out of range; a size is an integer from 1 to ${group(most)}`);
    return { number: found[0], wrong: "" };
  }

  // Read the fields of a form, which may refer to each other: return the numbers, and the messages as [size, message].
  function entries(form, sheet, typed) {
    const most = BigInt(sheet.most), given = new Map(), wrong = new Map(), open = [], asks = form.asks ?? [];
    const derived = new Map((form.given ?? []).map(([name, tree]) => [name, sheet.trees[tree]]));
    function settle(name) {
      if (given.has(name) || wrong.has(name)) return;
      const text = typed.get(name) ?? "", { tree, wrong: fault } = entry.parse(text);
      const refuse = (why) => wrong.set(name, `“${entry.short(text)}” ${why}`);
      if (!tree) { if (fault) wrong.set(name, fault); return; }
      open.push(name);
      const numbers = new Map();
      // Return a reason why a size has no number, and otherwise add its number.
      function need(size) {
        if (asks.includes(size)) {
          if (open.includes(size)) return `refers to itself: ${[...open.slice(open.indexOf(size)), size].join(", ")}`;
          settle(size);
          if (given.has(size)) numbers.set(size, given.get(size));
        } else if (derived.has(size)) {
          const why = entry.sizes(derived.get(size)).map(need).find(Boolean), n = at(derived.get(size), numbers);
          if (why) return why;
          if (Array.isArray(n) && n[1] === 1n) numbers.set(size, n[0]);
        } else return `contains ${entry.short(size)}, which is not a size of this formula; its sizes are ${[...asks, ...derived.keys()].join(", ")}`;
        return "";
      }
      const why = entry.sizes(tree).map(need).find(Boolean);
      open.pop();
      if (why) { refuse(why); return; }
      const { number, wrong: found } = read(text, most, numbers);
      if (number === null) wrong.set(name, found);
      else given.set(name, number);
    }
    asks.forEach(settle);
    return { given: new Map(asks.filter((name) => given.has(name)).map((name) => [name, given.get(name)])), wrong: asks.filter((name) => wrong.has(name)).map((name) => [name, wrong.get(name)]) };
  }

  // Evaluate a formula: return its {number}, or in {said} the reasons why there is none. `numbers` includes derived sizes.
  function answer(form, sheet, given) {
    const numbers = new Map(given), most = BigInt(sheet.most);
    const said = [];
    if (form.refused) return { numbers, said: [form.refused] };
    for (const [name, tree] of form.given) {
      const found = at(sheet.trees[tree], numbers);
      if (found === null) continue;
      if (found === NOTHING) said.push(`${name} divides by zero`);
      else if (found[1] !== 1n) said.push(`${name} would be ${plain(found)}, which is not an integer`);
      else if (found[0] < 1n || found[0] > most) said.push(`${name} would be ${plain(found)}; a size is an integer from 1 to ${group(most)}`);
      else numbers.set(name, found[0]);
    }
    for (const each of form.conditions) said.push(broken(sheet.conditions[each], sheet, numbers));
    const wrong = said.filter(Boolean);
    const missing = form.needs.filter((name) => !numbers.has(name));
    if (wrong.length || missing.length) return { numbers, said: wrong, missing };
    const number = at(sheet.trees[form.written], numbers);
    if (number === NOTHING || number === null) return { numbers, said: ["the formula divides by zero at these sizes"] };
    if ("over" in form) {
      const below = at(sheet.trees[form.over], numbers);
      if (below === NOTHING || below[0] === 0n) return { numbers, said: ["the ratio is undefined: its denominator is 0"] };
    } else if (number[1] !== 1n) return { numbers, said: [`the result would be ${plain(number)}, which is not an integer: the formula needs sizes that divide evenly`] };
    return { numbers, said: [], number };
  }

  // Round a fraction to some decimals, half to even; return an integer in units of the last decimal.
  function rounded([above, below], places) {
    const parts = size(above) * 10n ** BigInt(places), whole = parts / below, rest = 2n * (parts % below);
    const up = rest > below || (rest === below && whole % 2n === 1n) ? 1n : 0n;
    return (above < 0n ? -1n : 1n) * (whole + up);
  }
  const group = (n) => `${n < 0n ? "\u2212" : ""}${`${size(n)}`.replace(/\B(?=([0-9]{3})+$)/g, ",")}`;
  function decimal(number, places) {
    const parts = rounded(number, places), digits = `${size(parts)}`.padStart(places + 1, "0");
    const sign = parts < 0n ? "\u2212" : "";
    return `${sign}${group(BigInt(digits.slice(0, -places)))}.${digits.slice(-places)}`;
  }
  // Four significant digits below 1, else two decimals; a long fraction is only rounded.
  function near([above, below]) {
    let places = 3;
    while (size(above) * 10n ** BigInt(places) < 1000n * below && places < 24) places++;
    return decimal([above, below], size(above) >= below || below < 1000n ? 2 : places);
  }
  const spelt = (number) => (number[1] === 1n ? group(number[0]) : `${number[1] < 1000n ? `${group(number[0])}/${group(number[1])} ` : ""}≈ ${near(number)}`);
  function percent(part, whole) {
    if (part[0] === 0n || whole[0] === 0n) return "0%";
    const share = times(part, over(whole[1], whole[0]));
    return share[0] > 0n && share[0] * 2000n < share[1] ? "< 0.1%" : `${decimal([share[0] * 100n, share[1]], 1)}%`;
  }
  // Return a number with a prefix: "2.15 GB, 2.00 GiB", "285.21 GFLOPs", "124.44M" parameters; empty below 1,000 and for a fraction.
  function prefixed([n, below], unit) {
    if (below !== 1n || n < 1000n) return "";
    const scaled = (base, units, between = " ") => {
      let power = 0;
      while (power < units.length - 1 && n >= base ** BigInt(power + 2)) power++;
      return `${decimal(over(n, base ** BigInt(power + 1)), 2)}${between}${units[power]}`;
    };
    const named = (after, most = "kMGTPE") => [...most].map((each) => `${each}${after}`);
    if (unit === "bytes") return `${scaled(1000n, named("B"))}, ${scaled(1024n, named("iB").map((each) => each[0].toUpperCase() + each.slice(1)))}`;
    if (unit === "parameters") return scaled(1000n, [..."KMBT"], "");
    return scaled(1000n, named(/^(FLOPs|MACs)$/.test(unit) ? unit : "", "kMGTPEZY"));
  }

  // Return the form of a side: the formula of its model at its settings, in which the last switch varies fastest.
  // It is refused if the page has no formula for the preset or for an option that was set on another tab.
  function form(sheet, side) {
    const model = sheet.models[side.model], preset = foreign(sheet, side);
    if (preset) return { refused: `the formula of this tab does not apply to ${preset.name}; choose a preset of this tab, or generate a page of ${preset.name} with --live` };
    const lost = model.switches.find((each) => each.option && !each.values.includes(side.options[each.name]));
    if (lost) return none(lost.name, side, `choose ${lost.values.join(" or ")}`, true);
    const value = ({ name, option }) => (option ? side.options : side.at)[name];
    const place = model.switches.reduce((sum, each) => sum * each.values.length + each.values.indexOf(value(each)), 0);
    const kept = Object.entries(model.carried).find(([name, [own, affects]]) => affects[place] === "1" && side.options[name] !== own);
    return kept ? none(kept[0], side, `set ${kept[0]}=${kept[1][0]} on another tab`, kept[1][2]) : model.forms[model.settings[place]];
  }
  const none = (name, { options }, what, settable) => ({ refused: `this tab has no formula for ${name}=${options[name]}; ${what}${settable ? `, or generate a page with --option ${name}=${options[name]}` : ""}` });

  // Return the presets of a side's model, the chosen one first: those of this tab, or those of all tabs.
  function presets(sheet, side, tabs = [sheet]) {
    const all = new Map(tabs.flatMap((each) => each.models[side.model].presets).map((each) => [each.name, each]));
    return [...all.values()].sort((a, b) => (b.name === side.preset) - (a.name === side.preset));
  }
  // Return the chosen preset if only other tabs have it and its sizes are unchanged: the formulas of this tab are those of
  // another model.
  function foreign(sheet, side) {
    const { presets: own, start } = sheet.models[side.model], named = ({ name }) => name === side.preset;
    if (own.some(named) || named(start)) return null;
    return presets(sheet, side, sheet.tabs).find((each) => named(each) && hasSizes(each, sheet, side)) ?? null;
  }
  const hasOptions = (preset, side) => Object.entries(preset.options).every(([name, value]) => side.options[name] === value);
  // Return whether a side has the sizes of a preset; `given` are the numbers of the fields of this tab.
  function hasSizes(preset, sheet, side, given = new Map()) {
    const number = (name) => given.get(name) ?? read(side.typed.get(name) ?? "", BigInt(sheet.most)).number;
    return Object.entries(preset.numbers).every(([name, n]) => `${number(name)}` === `${n}`);
  }

  // Evaluate one side; `wrong` lists the invalid inputs as [size, message].
  function compute(sheet, side) {
    const found = form(sheet, side), { given, wrong } = entries(found, sheet, side.typed);
    const answered = answer(found, sheet, given);
    return { form: found, given, wrong, ...answered, number: wrong.length ? undefined : answered.number };
  }

  // Return the initial state of a side: the conventions of this tab and, for all tabs, the options and the sizes as text.
  function begin(sheet, which) {
    const { at, options, numbers, name } = sheet.models[which].start;
    return { model: which, preset: name, at: { ...at }, options: { ...options }, kept: {}, typed: new Map(Object.entries(numbers).map(([size, n]) => [size, group(BigInt(n))])) };
  }

  // Return the state of another tab: the same models, options and sizes, the conventions that it shares with this one,
  // and otherwise those that it had before.
  function turned(sheet, state, place) {
    const other = tab(sheet, place);
    const sides = state.sides.map((side) => {
      const start = begin(other, side.model), own = { ...start.at, ...side.kept[other.quantity] };
      const shared = other.models[side.model].switches.filter(({ name, values, option }) => !option && values.includes(side.at[name]));
      const at = { ...own, ...Object.fromEntries(shared.map(({ name }) => [name, side.at[name]])) };
      return { ...side, at, kept: { ...side.kept, [sheet.quantity]: side.at }, typed: new Map([...start.typed, ...side.typed]) };
    });
    return { sheet: other, state: { ...state, sides } };
  }

  // Write a state as the fragment of a URL, and restore it. Unknown parts are skipped and reported.
  function write(sheet, state) {
    const found = sheet.tab ? [["q", sheet.quantity]] : [];
    state.sides.forEach((side, number) => {
      const before = number ? "2-" : "";
      const model = sheet.models[side.model];
      found.push([`${before}model`, model.name]);
      for (const { name, option } of model.switches) found.push([`${before}o-${name}`, (option ? side.options : side.at)[name]]);
      const { options, numbers } = model.start, asks = form(sheet, side).asks ?? [];
      const here = (name) => model.switches.some((each) => each.option && each.name === name);
      for (const [name, value] of Object.entries(side.options)) if (!here(name) && value !== options[name]) found.push([`${before}m-${name}`, value]);
      if (foreign(sheet, side)) found.push([`${before}preset`, side.preset]);
      const changed = (name) => side.typed.has(name) && String(read(side.typed.get(name), BigInt(sheet.most)).number ?? side.typed.get(name)) !== String(numbers[name] ?? "");
      const others = Object.keys(sheet.sizes).filter((name) => !asks.includes(name) && changed(name));
      for (const name of [...asks, ...others]) {
        const text = side.typed.get(name) ?? "", { number: n } = read(text, BigInt(sheet.most)), { tree } = entry.parse(text);
        const arithmetic = Array.isArray(tree) || (tree && entry.sizes(tree).length);
        found.push([`${before}s-${name}`, arithmetic ? text.replace(/\s/g, "") : n === null ? "" : `${n}`]);
      }
    });
    for (const key of ["by", "x", "axes"]) if (state[key]) found.push([key, state[key]]);
    return found.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  }
  // Return the text of a field that a URL contains, or why it is refused.
  function restored(told, sheet) {
    const { tree, wrong: fault } = entry.parse(told), sizes = tree ? entry.sizes(tree) : [];
    const unknown = sizes.find((name) => !Object.hasOwn(sheet.sizes, name));
    if (fault || !tree) return { fault, text: "" };
    if (unknown) return { fault: `“${entry.short(told)}” contains ${entry.short(unknown)}, which is not a size` };
    if (sizes.length) return { text: told.replace(/\s/g, "") };
    const { number: n, wrong } = read(told, BigInt(sheet.most));
    return { fault: wrong, text: typeof tree === "string" && n !== null ? group(n) : told };
  }
  const VIEWS = ["parts", "purposes", "rows"], AXES = ["linear", "log"], LONGEST = 8000;
  function restore(whole, address) {
    let sheet = tab(whole, 0);
    const state = { sides: [], by: "", x: "", axes: "" }, said = [];
    const begun = () => { state.sides = [...sheet.models.keys()].map((which) => begin(sheet, which)); };
    begun();
    const text = address.replace(/^#/, "");
    if (text.length > LONGEST) return { sheet, state, said: ["the settings in the URL are too long and were ignored"] };
    const pairs = [];
    for (const each of text.split("&").filter((pair) => pair.includes("="))) {
      const cut = each.indexOf("=");
      try { pairs.push([each.slice(0, cut), each.slice(cut + 1)].map(decodeURIComponent)); } catch { said.push("a part of the URL cannot be read"); }
    }
    const short = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
    const wrong = (key, value) => said.push(`the URL contains ${short(key)}=${short(value)}, which this page does not support`);
    const named = pairs.find(([key]) => key === "q"), asked = named ? sheet.tabs.findIndex(({ quantity }) => quantity === named[1]) : 0;
    if (asked < 0) wrong(...named);
    else if (asked) { sheet = tab(whole, asked); begun(); }
    if (pairs.length && !pairs.some(([key]) => key.startsWith("2-"))) state.sides.length = 1;
    for (const number of [0, 1]) {
      const before = number ? "2-" : "";
      const own = pairs.filter(([key]) => key.startsWith("2-") === Boolean(number)).map(([key, told]) => [key.slice(before.length), told]);
      if (!own.length) continue;
      const named = own.find(([key]) => key === "model");
      const which = named ? sheet.models.findIndex((model) => model.name === named[1]) : number ? sheet.models.length - 1 : 0;
      if (which < 0) { wrong("model", named[1]); continue; }
      if (number || named) state.sides[number] = begin(sheet, which);
      const side = state.sides[number], model = sheet.models[which];
      for (const [key, told] of own) {
        const turned = key.startsWith("o-") && model.switches.find((each) => each.name === key.slice(2));
        const elsewhere = key.startsWith("m-") && sheet.tabs.flatMap((each) => each.models[which].switches).find((each) => each.option && each.name === key.slice(2) && each.values.includes(told));
        if (key === "model" || (key === "q" && !number)) continue;
        if (turned && turned.values.includes(told)) (turned.option ? side.options : side.at)[turned.name] = told;
        else if (elsewhere) side.options[elsewhere.name] = told;
        else if (key === "preset" && presets(sheet, side, sheet.tabs).some(({ name }) => name === told)) side.preset = told;
        else if (key.startsWith("s-") && Object.hasOwn(sheet.sizes, key.slice(2))) {
          const { fault, text } = restored(told, sheet);
          if (fault) said.push(`the URL contains ${short(key.slice(2))}: ${fault}`);
          else side.typed.set(key.slice(2), text);
        } else if (!number && key === "by" && VIEWS.includes(told)) state.by = told;
        else if (!number && key === "axes" && AXES.includes(told)) state.axes = told;
        else if (!number && key === "x" && Object.hasOwn(sheet.sizes, told)) state.x = told;
        else wrong(key, told);
      }
    }
    return { sheet, state, said: [...new Set(said)].slice(0, 5) };
  }

  // Return the name and the whole amount of each item of a breakdown; the amount is null without a number.
  function shares({ form, number, numbers }, sheet, by) {
    return (form[by] ?? []).map((row) => sheet.rows[row]).map(([name, ...trees]) => {
      const values = trees.map((tree) => (number ? at(sheet.trees[tree], numbers) : null));
      const known = Array.isArray(values[0]) && Array.isArray(values.at(-1));
      return [name, !known ? null : "over" in form ? values.at(-1) : values.reduce(times)];
    });
  }

  // Return points of the curves of a side against a size, at most `most` of them, each with its total and its items.
  function curve(sheet, side, by, size, most) {
    const found = compute(sheet, side), all = ladder(found.form, sheet, found.given, size), now = found.given.get(size);
    let stride = 1;
    while (all.length > stride * most) stride++;
    const kept = all.filter((n, place) => n === now || place === all.length - 1 || place % stride === 0);
    return kept.flatMap((n) => {
      const there = compute(sheet, { ...side, typed: new Map(side.typed).set(size, `${n}`) });
      return there.number ? [{ n, now: n === now, total: there.number, items: shares(there, sheet, by) }] : [];
    });
  }

  // Return a sentence about the largest value of a growing size for which a number of bytes is not exceeded.
  function fitting(sheet, side, size, room) {
    const found = compute(sheet, side), { form } = found, most = BigInt(sheet.most);
    const unit = lattice(form, sheet, found.given, size);
    const bytes = (k) => {
      const there = compute(sheet, { ...side, typed: new Map(side.typed).set(size, `${k * unit}`) });
      return there.number ?? null;
    };
    if (!growing(form, sheet).includes(size)) return `There is no largest ${size}, because the formula does not grow with it, or only some values are allowed.`;
    const amount = (n) => { const short = prefixed([n, 1n], "bytes"); return `${group(n)} bytes${short && ` (${short})`}`; };
    const told = (k) => `${size} = ${group(k * unit)} needs ${amount(bytes(k)[0])}`;
    const known = [...found.wrong.map(([name]) => name), ...(found.missing ?? [])].filter((name) => name !== size);
    if (form.refused || known.length) return "There is no answer, because the formula has no value at these sizes.";
    const fit = (k) => { const n = bytes(k); return n !== null && !less([room, 1n], n); };
    if (bytes(1n) === null) return `There is no answer, because the formula has no value at ${size} = ${group(unit)} with these sizes.`;
    if (!fit(1n)) return `Nothing fits: ${told(1n)}, more than ${amount(room)}.`;
    let low = 1n, high = 2n;
    while (high * unit <= most && fit(high)) [low, high] = [high, high * 2n];
    while (high - low > 1n) { const middle = (low + high) / 2n; if (fit(middle)) low = middle; else high = middle; }
    const over = high * unit <= most ? bytes(high) : null;
    const beyond = high * unit > most ? "larger values are out of range" : `${size} = ${group(high * unit)} violates a condition on the sizes`;
    return `${told(low)}, which fits in ${amount(room)}; ${over ? told(high) : beyond}.`;
  }
  // Return the sizes with which the number of a form grows, and whose conditions hold up to a largest value.
  function growing(form, sheet) {
    const derived = new Map((form.given ?? []).map(([name, tree]) => [name, sheet.trees[tree]]));
    const depends = (tree, name) => entry.sizes(tree).some((each) => each === name || (derived.has(each) && depends(derived.get(each), name)));
    const falls = (tree) => Array.isArray(tree) && (tree[0] === "-" || tree.slice(1).some(falls));
    function grows(tree, name) {
      if (!depends(tree, name)) return true;
      if (typeof tree === "string") return tree === name || grows(derived.get(tree), name);
      const [done, ...of] = tree;
      if (done === "-" || (done === "*" && of.some(falls)) || (done === "/" && (depends(of[1], name) || falls(of[1])))) return false;
      return of.every((each) => grows(each, name));
    }
    const steady = ({ kind, of }, name) => {
      const [low, high] = of.map((each) => sheet.trees[each]), here = of.map((each) => depends(sheet.trees[each], name));
      if (!here.some(Boolean)) return true;
      return kind === "divides" ? high === name && !here[0] : kind === "at most" && !here[1] && grows(low, name);
    };
    const whole = sheet.trees[form.written];
    return (form.asks ?? []).filter((name) => whole !== undefined && depends(whole, name) && grows(whole, name) && form.conditions.every((each) => steady(sheet.conditions[each], name)));
  }
  // Return the number that a size is a multiple of, by the conditions on it.
  function lattice(form, sheet, given, name) {
    const units = form.conditions.map((each) => sheet.conditions[each]).flatMap((each) => {
      if (each.kind !== "divides" || sheet.trees[each.of[1]] !== name) return [];
      const by = at(sheet.trees[each.of[0]], given);
      return Array.isArray(by) && by[1] === 1n && by[0] > 0n ? [by[0]] : [];
    });
    return units.reduce((a, b) => (a * b) / gcd(a, b), 1n);
  }

  // Return the positions of a slider: the values that violate no condition, and the current value.
  function ladder(form, sheet, given, name) {
    const most = BigInt(sheet.most), now = given.get(name);
    const usual = now ?? 64n, top = usual * 8n < most ? usual * 8n : most;
    const steps = new Set(now ? [now] : []);
    const unit = lattice(form, sheet, given, name);
    if (top <= 160n) for (let n = 1n; n <= 160n; n++) steps.add(n);
    else {
      for (let n = 1n; n <= 16n; n++) steps.add(n).add(n * unit);
      for (let n = 16n; n <= top; n += n / 16n || 1n) {
        const coarse = 1n << BigInt(Math.max(0, n.toString(2).length - 5));
        const grain = (unit * coarse) / gcd(unit, coarse);
        const step = grain * 8n <= n ? grain : unit;
        steps.add((n / step || 1n) * step);
      }
    }
    const faults = (numbers) => answer({ ...form, needs: [" "] }, sheet, numbers).said;
    const without = new Map(given);
    without.delete(name);
    const others = new Set(faults(without));
    const holds = (n) => faults(without.set(name, n)).every((each) => others.has(each));
    const found = [...steps].filter((n) => n <= most && (n === now || holds(n)));
    return found.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  }

  return { open, value, at, answer, broken, read, over, plus, times, minus, less, group, decimal, spelt, percent, rounded, prefixed, tab, turned, form, presets, foreign, hasOptions, hasSizes, compute, begin, write, restore, ladder, shares, curve, growing, fitting };
})();
