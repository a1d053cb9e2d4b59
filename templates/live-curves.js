"use strict";
// The curves of a live page: the items of a breakdown and their total against one size, as a drawing and as a table.
// The numbers are exact until they are placed on the drawing.
const curves = (() => {
  const { DRAWING, made, el } = draw;
  const MOST_CURVES = 7, POINTS = 40, LINES = 10, HEIGHT = 300;
  const LEFT = 78, RIGHT = 14, TOP = 32, FOOT = 42;
  const svg = (tag, attributes, ...inside) => made(DRAWING, tag, attributes, inside);
  const near = ([above, below]) => Number(above) / Number(below);

  // Return positions of an axis from `low` to `high`: round numbers, and powers of ten on a logarithmic axis.
  function ticks(low, high, log, most) {
    if (log && high >= low * 10) {
      const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
      const step = Math.ceil((last - first + 1) / most);
      return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, n) => 10 ** (first + n * step));
    }
    const rough = (high - low) / most || 1, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * unit).find((each) => each >= rough);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step - first + 1e-9) + 1 }, (_, n) => (first + n) * step);
  }
  const capital = (words) => words[0].toUpperCase() + words.slice(1);
  // Return the meaning of a size after "against": "the hidden size", "the number of layers".
  const counting = (meaning) => `the ${meaning.split(/ (?:of|per|that|with|without|in|already|before) /)[0].endsWith("s") ? "number of " : ""}${meaning}`;
  const figures = (n) => n.toLocaleString("en-US", { maximumSignificantDigits: 6 });

  // Return the label of a tick, with a prefix as in tables: "500M" parameters, "20 GFLOPs", "1.5 GB".
  function amount(n, unit) {
    if (unit.startsWith("of the ")) return `${figures(n * 100)}%`;
    const counted = unit === "parameters", scaled = counted || /^(FLOPs|MACs|bytes)$/.test(unit);
    if (n === 0 || !scaled) return figures(n);
    const prefixes = counted ? ["", "K", "M", "B", "T"] : ["", "k", "M", "G", "T", "P", "E"];
    const power = Math.max(0, Math.min(prefixes.length - 1, Math.floor(Math.log10(n * (1 + 1e-9)) / 3)));
    const shown = `${figures(n / 1000 ** power)}${counted ? "" : " "}${prefixes[power]}`;
    return counted ? shown : `${shown}${unit === "bytes" && power ? "B" : unit}`;
  }
  // Return the label of a size: all its digits, unless there are too many.
  const whole = (n) => (n < 1e9 ? figures(n) : amount(n, "parameters"));

  // Return the curves: the largest items at the current value, the sum of the others, and the total.
  // Curves with equal values are one curve.
  function series(points, adds, named) {
    const now = points.find((each) => each.now) ?? points.at(-1);
    const size = (value) => (value ? near(value) : 0);
    const names = [...new Set(now.items.map(([name]) => name))];
    const of = (point, name) => point.items.filter(([each]) => each === name).map(([, value]) => value ?? [0n, 1n]).reduce(exact.plus, [0n, 1n]);
    const ranked = [...names].sort((a, b) => size(of(now, b)) - size(of(now, a)));
    const kept = names.length > MOST_CURVES ? ranked.slice(0, MOST_CURVES - 1) : names, others = names.filter((name) => !kept.includes(name));
    const found = [];
    for (const name of kept) {
      const values = points.map((point) => of(point, name)), same = found.find((each) => String(each.values) === String(values));
      if (same) same.names.push(named(name));
      else found.push({ names: [named(name)], values });
    }
    for (const each of found) each.name = each.names.length > 1 ? `${each.names.join(" and ")}, each` : each.names[0];
    if (others.length && adds) found.push({ name: `${others.length} others`, values: points.map((point) => others.map((name) => of(point, name)).reduce(exact.plus)) });
    return [...(names.length > 1 ? found : []), { name: "Total", total: true, values: points.map(({ total }) => total) }];
  }

  function drawn(points, lines, { x, log, meaning, title, unit, said, width }) {
    const at = points.map(({ n }) => Number(n)), values = lines.flatMap((line) => line.values.map(near)).filter((n) => !log || n > 0);
    const [low, high] = [at[0], at.at(-1)], top = Math.max(...values), bottom = log ? Math.min(...values) : 0;
    const place = (n, from, to, start, end) => {
      const [a, b, c] = log ? [n, from, to].map(Math.log) : [n, from, to];
      return start + (c === b ? 0.5 : (a - b) / (c - b)) * (end - start);
    };
    const across = (n) => place(n, low, high, LEFT, width - RIGHT), up = (n) => place(n, bottom, top, HEIGHT - FOOT, TOP);
    const point = (n) => n.toFixed(1);
    const grid = [
      ...ticks(bottom, top, log, 5).flatMap((n) => [svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: point(up(n)), y2: point(up(n)) }), svg("text", { x: LEFT - 6, y: point(up(n) + 4), "text-anchor": "end" }, amount(n, unit))]),
      ...ticks(low, high, log, Math.max(2, Math.floor(width / 110))).filter(Number.isInteger).map((n) => svg("text", { x: point(across(n)), y: HEIGHT - FOOT + 16, "text-anchor": "middle" }, whole(n))),
      svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT }),
      svg("text", { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 6, class: "title", "text-anchor": "middle" }, `${capital(meaning)} ${x}`),
      svg("text", { class: "title", x: 0, y: 14 }, title.toLowerCase().includes(unit.toLowerCase()) ? title : `${title} (${unit})`),
    ];
    const now = points.find((each) => each.now);
    const marks = now ? [svg("line", { class: "now", x1: point(across(Number(now.n))), x2: point(across(Number(now.n))), y1: TOP, y2: HEIGHT - FOOT })] : [];
    lines.forEach((line, number) => {
      const shown = line.values.map((value, n) => [at[n], near(value)]).filter(([, y]) => !log || y > 0);
      marks.push(svg("polyline", { class: line.total ? "curve all" : `curve c${number}`, points: shown.map(([a, b]) => `${point(across(a))},${point(up(b))}`).join(" ") }));
      const here = now && near(line.values[points.indexOf(now)]);
      if (here > 0 || (here === 0 && !log)) marks.push(svg("circle", { class: line.total ? "spot all" : `spot c${number}`, cx: point(across(Number(now.n))), cy: point(up(here)), r: 3.5 }));
    });
    return svg("svg", { role: "img", "aria-label": said, viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT }, ...grid, ...marks);
  }

  function legend(lines, now) {
    return el("ul", { class: "legend" }, ...lines.map((line, number) => {
      const key = svg("svg", { "aria-hidden": "true", width: 30, height: 10 }, svg("line", { class: line.total ? "curve all" : `curve c${number}`, x1: 1, x2: 29, y1: 5, y2: 5 }));
      return el("li", {}, key, ` ${line.name}`, now < 0 ? "" : el("span", {}, ` ${exact.spelt(line.values[now])}`));
    }));
  }

  // Show the curves of a side against the size `x`.
  function show(sheet, side, { by, named, x, log, model }) {
    const plot = document.getElementById("plot"), table = document.getElementById("points");
    const form = exact.form(sheet, side);
    const points = x && !form.refused ? exact.curve(sheet, side, by, x, POINTS) : [];
    table.parentNode.hidden = points.length < 2;
    if (points.length < 2) {
      plot.replaceChildren(el("p", { class: "why" }, "There are no curves, because the formula has no value at these sizes or does not depend on this one."));
      return;
    }
    const lines = series(points, !("over" in form), named), now = points.findIndex((each) => each.now), meaning = sheet.sizes[x].meaning;
    const ends = `from ${exact.group(points[0].n)} to ${exact.group(points.at(-1).n)}`;
    const total = now < 0 ? "" : ` At ${x} = ${exact.group(points[now].n)}, the total is ${exact.spelt(points[now].total)} ${sheet.unit}.`;
    const what = `${capital(sheet.title)} of ${model} against ${counting(meaning)} ${x}, ${ends}`;
    const said = `${what}.${total} The table below has the numbers.`;
    plot.replaceChildren(drawn(points, lines, { x, log, meaning, title: capital(sheet.title), unit: sheet.unit, said, width: Math.max(260, plot.clientWidth) }), legend(lines, now), el("figcaption", {}, `${what}; the vertical line marks the current value.`));
    const step = Math.ceil(points.length / LINES), rows = points.map((_, n) => n).filter((n) => n % step === 0 || n === now || n === points.length - 1);
    table.replaceChildren(el("table", {}, el("caption", {}, `${what}${sheet.title.includes(sheet.unit) ? "" : `, in ${sheet.unit}`}.`), el("thead", {}, el("tr", {}, ...[x, ...lines.map(({ name }) => name)].map((name) => el("th", { scope: "col", class: "right" }, name)))), el("tbody", {}, ...rows.map((n) => el("tr", {}, el("th", { scope: "row", class: "right" }, exact.group(points[n].n) + (n === now ? " (current)" : "")), ...lines.map(({ values }) => el("td", { class: "right" }, exact.spelt(values[n]))))))));
  }

  return { show, amount };
})();
