"use strict";
// Arithmetic in an input field: integers, sizes, + - * / ^ and brackets, as a tree like those of the formulas.
const entry = (() => {
  const MOST_CHARACTERS = 200, MOST_POWER = 60n;
  const TOKEN = /\s*(?:([0-9]+)|(\p{L}[\p{L}\p{N}_]*)|(\*\*|[-+*/^()×·−]))/uy;
  const SAME = { "**": "^", "×": "*", "·": "*", "−": "-" };
  const short = (text) => ([...text.trim()].length > 24 ? `${[...text.trim()].slice(0, 24).join("")}…` : text.trim());

  // Return the tokens of a text as [kind, text], or null if a character belongs to none.
  function tokens(text) {
    const found = [];
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length;) {
      const match = TOKEN.exec(text);
      if (!match) return null;
      const [, digits, name, sign] = match;
      found.push(digits ? ["number", digits] : name ? ["size", name] : [SAME[sign] ?? sign, sign]);
    }
    return found;
  }

  // Return the {tree} of a text, or a sentence in {wrong}; neither for an empty text.
  function parse(typed) {
    const text = typed.replace(/(?<=[0-9])[,_\s]+(?=[0-9])/g, "").trim();
    if (text === "") return { wrong: "" };
    const refuse = (why) => ({ wrong: `“${short(typed)}” ${why}` });
    const all = text.length > MOST_CHARACTERS ? null : tokens(text);
    if (!all) return refuse("is not an integer; enter digits, or arithmetic such as 4*E or 2^15");
    let place = 0;
    const next = () => all[place]?.[0] ?? "end";
    const spelt = (at) => short(all[at]?.[1] ?? "");
    const missing = () => `has no number or size ${place < all.length ? `before ${spelt(place)}` : "at its end"}`;
    function atom() {
      const [kind, of] = all[place] ?? ["end"];
      if (kind === "number" || kind === "size") { place++; return kind === "number" ? of.replace(/^0+(?=[0-9])/, "") : of; }
      if (kind === "-") { place++; return ["-", power()]; }
      if (kind !== "(") throw missing();
      place++;
      const inside = sum();
      if (next() !== ")") throw place < all.length ? between() : "has no closing bracket";
      place++;
      return inside;
    }
    const between = () => (next() === ")" ? "has no opening bracket" : `has no operator between ${spelt(place - 1)} and ${spelt(place)}`);
    function power() {
      const base = atom();
      if (next() !== "^") return base;
      place++;
      const above = next() === "number" ? BigInt(all[place][1]) : null;
      if (above === null || above > MOST_POWER) throw `has an exponent that is not an integer from 0 to ${MOST_POWER}`;
      place++;
      if (next() === "^" || JSON.stringify(base).includes("\"^\"")) throw "has a power of a power; multiply the exponents";
      return ["^", base, `${above}`];
    }
    function product() {
      let found = power();
      while (next() === "*" || next() === "/") found = [all[place++][0], found, power()];
      return found;
    }
    function sum() {
      let found = product();
      while (next() === "+" || next() === "-") found = all[place++][0] === "+" ? ["+", found, product()] : ["+", found, ["-", product()]];
      return found;
    }
    try {
      const tree = sum();
      if (place < all.length) throw between();
      return { tree };
    } catch (why) {
      if (typeof why !== "string") throw why;
      return refuse(why);
    }
  }

  // Return the names of the sizes in a tree.
  const sizes = (tree) => (Array.isArray(tree) ? [...new Set(tree.slice(1).flatMap(sizes))] : /^[0-9]/.test(tree) ? [] : [tree]);

  return { parse, sizes, short };
})();
