"use strict";
// Elements of a live page, and its formulas in MathML.
const draw = (() => {
  const MATH = "http://www.w3.org/1998/Math/MathML", DRAWING = "http://www.w3.org/2000/svg";
  const made = (space, tag, attributes, inside) => {
    const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, told] of Object.entries(attributes)) {
      if (typeof told === "boolean") node.toggleAttribute(name, told);
      else node.setAttribute(name, told);
    }
    node.append(...inside.filter((each) => each !== null && each !== ""));
    return node;
  };
  const el = (tag, attributes = {}, ...inside) => made("", tag, attributes, inside);
  const m = (tag, ...inside) => made(MATH, tag, {}, inside);

  let sizes = {};  // how the letter of each size is written
  // Mathematics. A size is shown as its letter, or as its number if numbers are given.
  const sign = (spelt, form) => made(MATH, "mo", { ...(form ? { form } : {}), ...(/[()]/.test(spelt) ? { stretchy: "false" } : {}) }, [spelt]);
  const sub = (base, below) => (below ? m("msub", m("mi", base), m("mtext", below)) : m("mi", base));
  const binds = (tree) => (typeof tree === "string" ? 4 : { "+": 0, "-": 0, "*": 2, "^": 3 }[tree[0]] ?? 4);
  function bracketed(inside) {
    const row = m("mrow", sign("(", "prefix"), ...inside, sign(")", "postfix"));
    if (row.querySelector("mfrac")) for (const each of [row.firstChild, row.lastChild]) each.removeAttribute("stretchy");
    return row;
  }
  function within(tree, least, numbers) {
    return binds(tree) < least ? bracketed(shown(tree, numbers)) : m("mrow", ...shown(tree, numbers));
  }
  function shown(tree, numbers) {
    if (typeof tree === "string") {
      if (/^[0-9]/.test(tree)) return [m("mn", exact.group(BigInt(tree)))];
      if (numbers?.has(tree)) return [m("mn", exact.group(numbers.get(tree)))];
      const size = sizes[tree];
      return [size ? (size.word ? m("mi", size.base) : sub(size.base, size.below)) : m("mi", tree)];
    }
    const [done, ...of] = tree;
    switch (done) {
      case "+": return of.flatMap((term, place) => signed(term, !place, numbers));
      case "-": return signed(tree, true, numbers);
      case "*": return factors(of, numbers).flatMap((factor, place) => (place ? [sign(dotted(of, numbers) || numeral(of[place]) ? "\u22c5" : "\u2062"), factor] : [factor]));
      case "^": return [m("msup", within(of[0], 4, numbers), m("mn", of[1]))];
      case "/": return [m("mfrac", m("mrow", ...shown(of[0], numbers)), m("mrow", ...shown(of[1], numbers)))];
      case "ceil": return [sign("\u2308", "prefix"), ...shown(of[0], numbers), sign("\u2309", "postfix")];
      case "floor": return [sign("\u230a", "prefix"), ...shown(of[0], numbers), sign("\u230b", "postfix")];
    }
    const listed = of.flatMap((each, place) => [...(place ? [sign(",")] : []), ...shown(each, numbers)]);
    return [m("mi", done), sign("\u2061"), bracketed(listed)];
  }
  // Whether a factor begins with a numeral, which could be read as the subscript of the letter before it.
  const numeral = (tree) => (typeof tree === "string" ? /^[0-9]/.test(tree) : (tree[0] === "*" || tree[0] === "^") && numeral(tree[1]));
  const dotted = (of, numbers) => Boolean(numbers) || of.some((each) => sizes[each]?.word);
  const factors = (of, numbers) => of.map((each) => within(each, 2, numbers));
  function signed(term, first, numbers) {
    const down = Array.isArray(term) && term[0] === "-";
    const before = down ? [sign("\u2212", first ? "prefix" : "infix")] : first ? [] : [sign("+", "infix")];
    return [...before, within(down ? term[1] : term, down ? 1 : 0, numbers)];
  }
  // Split a formula where a line may break: between the terms of a sum, also in brackets at the end of a product.
  function pieces(tree, numbers) {
    if (!Array.isArray(tree) || (tree[0] !== "+" && tree[0] !== "*")) return [shown(tree, numbers)];
    if (tree[0] === "+") {
      return tree.slice(1).flatMap((term, place) => {
        const down = term[0] === "-" && Array.isArray(term);
        const [begun, ...others] = pieces(down ? term[1] : term, numbers);
        if (down && binds(term[1]) < 1) return [signed(term, !place, numbers)];
        return [[...(down ? [sign("\u2212", place ? "infix" : "prefix")] : place ? [sign("+", "infix")] : []), ...begun], ...others];
      });
    }
    const last = tree[tree.length - 1];
    if (!Array.isArray(last) || last[0] !== "+" || last.length < 4) return [shown(tree, numbers)];
    const [begun, ...others] = pieces(last, numbers), end = others.pop();
    const dot = sign(numbers ? "\u22c5" : "\u2062");
    return [[...shown(["*", ...tree.slice(1, -1)], numbers), dot, sign("(", "prefix"), ...begun], ...others, [...end, sign(")", "postfix")]];
  }
  const math = (tree, numbers) => pieces(tree, numbers).flatMap((piece, place) => [...(place ? [el("wbr")] : []), m("math", m("mrow", ...piece))]);
  const equals = () => m("math", sign("=", "infix"));

  // Return a tree in words for screen readers.
  function words(tree) {
    if (typeof tree === "string") return tree;
    const [done, ...of] = tree, each = of.map((part) => (binds(part) < binds(tree) ? `(${words(part)})` : words(part)));
    return { "+": () => each.join(" + "), "-": () => `−${each[0]}`, "*": () => each.join(" "), "/": () => each.map((part, n) => (Array.isArray(of[n]) ? `(${part})` : part)).join("/"), "^": () => each.join("^") }[done]?.() ?? `${done}(${each.join(", ")})`;
  }
  // Return the terms of a sum, each as one piece of mathematics.
  const terms = (tree) => tree.slice(1).map((term, place) => m("math", m("mrow", ...signed(term, !place))));

  return { DRAWING, made, el, m, sub, shown, math, terms, words, equals, open: (told) => { sizes = told; } };
})();
