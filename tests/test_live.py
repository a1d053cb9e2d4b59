"""The live page computes what Python computes, reads its URL carefully, and loads nothing."""

from __future__ import annotations

import json
import random
import re
import subprocess
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import prod
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from click.testing import CliRunner
from sympy import Max, Min, Symbol, ceiling, expand, floor

from symformer.algebra.role_totals import role_totals
from symformer.commands.cli import cli
from symformer.documents.formats.live_html import SCRIPTS, Live
from symformer.documents.live_data import Sheet, sheet
from symformer.documents.live_links import rows_of_parts, rows_of_terms
from symformer.documents.live_page import MOST, TABS, page, usual_quantities
from symformer.formulas.formula import Formula
from symformer.language.errors import DocumentError, SizeError
from symformer.language.notation.data import data
from symformer.language.notation.display_tree import tree
from symformer.language.notation.text import number, percent
from symformer.language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes, substitute
from symformer.language.symbols import A, B, E, G, H, S, V, symbol
from symformer.output.blocks import Document, Paragraph
from symformer.targets.resolution import resolve
from symformer.views.figure_facts import figure_facts
from symformer.views.model_variants import FORMS, Variants
from tests.test_html import HOSTILE, Node, Page

from .samples import sampled

NODE = which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the page's own evaluator runs in node, which is not on PATH")

# Features of the evaluator that each one needs: sums of products, totals of kinds, min of a window, fractions, bytes,
# ceil, a ratio.
CASES = {
    "gpt2": ("params", {}),
    "deepseek-v3": ("params", {}),
    "gemma3": ("flops", {"attention": "causal"}),
    "vit": ("flops", {}),
    "llama": ("train-memory", {}),
    "mamba2": ("flops", {}),
    "mistral": ("intensity", {"phase": "decode"}),
    "t5": ("params", {}),
}
EACH = 150
ARITHMETIC_SCRIPTS = ("live-entry.js", "live-exact.js")


@cache
def variants(target: str) -> Variants:
    quantity, given = CASES[target]
    return Variants(resolve(target, {}, (), [quantity])[0], quantity, given)


@cache
def written(target: str) -> str:
    case = variants(target)
    return page([case.model], [case.quantity], "1", **case.given).decode()


def shown(target: str) -> Variants:
    """Return the variants with as many formulas as the page has room for."""
    program = "const result = sheet.models[0].switches.map(({ values }) => values.length);"
    return replace(variants(target), most=prod(run(written(target), program)))


def scripts(source: str) -> dict[str, str]:
    """Return the scripts of a page: data, copying, arithmetic, and display."""
    found = [node.text for node in Page(source).root.all("script")]
    return dict(zip(("sheet", "copies", *SCRIPTS), found, strict=True))


def run(source: str, program: str, told: object = None) -> Any:
    """Run a program with the page's evaluator as ``exact``, its ``sheet``, and ``told``; return its output."""
    parts = scripts(source)
    head = "\n".join(parts[name] for name in ARITHMETIC_SCRIPTS)
    head += f"\nconst sheet = exact.open({parts['sheet']}), told = {json.dumps(told)};\n"
    tail = "\nconsole.log(JSON.stringify(result, (_, each) => typeof each === 'bigint' ? `${each}` : each));"
    done = subprocess.run([str(NODE), "-"], input=head + program + tail, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def drawn(formula: Formula, asks: Sequence[str], seed: int) -> dict[str, int]:
    """Return sizes for a formula: most satisfy its conditions, some violate them, some are as large as possible."""
    chance = random.Random(seed)  # noqa: S311
    sizes = {name: chance.randrange(1, 10 ** chance.randrange(1, 7)) for name in asks}
    if chance.random() < 0.1:
        sizes[chance.choice(asks)] = chance.randrange(10**14, 10**15 + 1)
    for condition in formula.constraints * (chance.random() < 0.85):
        if isinstance(condition, Divides) and isinstance(condition.dividend, Symbol):
            by = substitute(condition.divisor, {symbol(name): number for name, number in sizes.items()})
            if condition.dividend.name in sizes and by.is_Integer:
                sizes[condition.dividend.name] = int(by) * chance.randrange(1, 40)
        if isinstance(condition, AtMost) and {str(condition.low), str(condition.high)} <= sizes.keys():
            low, high = str(condition.low), str(condition.high)
            sizes[low], sizes[high] = sorted((sizes[low], sizes[high]))
    if chance.random() < 0.05:
        del sizes[chance.choice(asks)]
    return sizes


def expected(formula: Formula, sizes: Mapping[str, int]) -> str:
    """Return Python's number as "p" or "p/q", or "!" and the reason why there is none."""
    try:
        return str(Fraction(formula.value(dict(sizes))))
    except SizeError as error:
        return f"!{error}"


ANSWERS = """
const plain = ([a, b]) => b === 1n ? `${a}` : `${a}/${b}`;
const result = told.map(([at, sizes]) => {
  const side = { model: 0, at, options: at, typed: new Map(Object.entries(sizes)) };
  const { form, number, numbers, said, missing, wrong } = exact.compute(sheet, side);
  if (!number) return ["!" + (wrong.length ? wrong[0][1] : said[0] ?? ""), missing ?? [], []];
  const value = (tree) => exact.at(sheet.trees[tree], numbers);
  const sum = (rows) => rows.map((row) => sheet.rows[row].slice(1).map(value).reduce(exact.times)).reduce(exact.plus);
  const shares = "over" in form ? [] : ["rows", "parts", "purposes"].map((by) => form[by]);
  return [plain(number), [], shares.filter((rows) => rows.length).map((rows) => plain(sum(rows)))];
});
"""


@needs_node
@pytest.mark.parametrize("target", sampled(3, CASES))
def test_every_number_is_exact(target: str) -> None:
    case = shown(target)
    told, truth = [], []
    settings = [(at, case.formula(at)) for at in case.places()[::3]]
    asked = [Sheet().form(formula)["asks"] for _, formula in settings if isinstance(formula, Formula)]
    for seed in range(EACH):
        at, formula = settings[seed % len(settings)]
        assert isinstance(formula, Formula)
        sizes = drawn(formula, asked[seed % len(settings)], seed)
        told.append([at, {name: str(size) for name, size in sizes.items()}])
        truth.append((expected(formula, sizes), sizes, formula))
    answers = run(written(target), ANSWERS, told)
    numbers = 0
    for (answer, missing, sums), (right, sizes, formula) in zip(answers, truth, strict=True):
        assert answer.startswith("!") == right.startswith("!"), (answer, right, sizes)
        if not right.startswith("!"):
            numbers += 1
            assert answer == right, (sizes, formula.code())
            assert set(sums) <= {right}, "the chart sums up"
        elif "needs values for" in right:
            assert right.endswith(", ".join(sorted(missing)))
        elif not re.search(
            " would be |ratio is undefined: |is out of range", answer
        ):  # messages about fields and relations differ
            assert answer == right, "the page says what Python says"
    assert numbers > EACH // 2
    assert numbers < EACH, "some sampled sizes violate a condition"


CONDITIONS: Sequence[tuple[Condition, Mapping[Symbol, int]]] = [
    (Divides(A, E, "choose others"), {A: 5, E: 12}),
    (Divides(2 * A, S), {A: 3, S: 9}),
    (Divides(S * 0 + 2, E), {E: 7}),
    (AtMost(S, V, "choose fewer"), {S: 9, V: 8}),
    (AtMost(E / A, V), {E: 7, A: 2, V: 3}),
    (Excludes((B, G), "the kernel is another"), {B: 1, G: 1}),
    (Differs(E, H, "they are told apart by it"), {E: 4, H: 4}),
    (Equals(H, 4 * E, "set those"), {E: 4, H: 15}),
]


@needs_node
def test_violated_condition_has_the_python_message() -> None:
    made, right = Sheet(), []
    for condition, sizes in CONDITIONS:
        made.condition(condition)
        with pytest.raises(SizeError) as error:
            condition.check(sizes)
        right.append(str(error.value))
    told = {
        "trees": [json.loads(each) for each in made.trees],
        "conditions": [json.loads(each) for each in made.conditions],
        "sizes": [{size.name: str(value) for size, value in sizes.items()} for _, sizes in CONDITIONS],
    }
    said = run(
        written("gpt2"),
        """const own = exact.open(told), result = own.conditions.map((each, place) => {
             const sizes = Object.entries(told.sizes[place]).map(([k, v]) => [k, BigInt(v)]);
             return [exact.broken(each, own, new Map(sizes)), exact.broken(each, own, new Map(sizes.slice(1)))]; });""",
        told,
    )
    assert [each for each, _ in said] == right
    assert [each for _, each in said] == [""] * len(right), "no message about a size without a number"


def test_unsupported_condition_is_refused() -> None:
    class Odd(Condition):
        def __str__(self) -> str:
            return "E is odd"

        def violation(self, *values: object) -> str:
            return "E is even"

        def check(self, numbers: Mapping[Symbol, int]) -> None:
            pass

    with pytest.raises(DocumentError, match="a live page cannot check that E is odd"):
        Sheet().condition(Odd())


@needs_node
def test_numbers_are_printed_as_python_prints_them() -> None:
    chance = random.Random(3)  # noqa: S311
    pairs = [(chance.randrange(10**5), chance.randrange(10**5, 10**6)) for _ in range(200)]
    pairs += [(0, 7), (1, 2000), (1, 2001), (1, 1), (1, 8), (3, 8), (1, 400), (3, 400), (25, 1000)]  # including halves
    both = run(
        written("gpt2"),
        """const result = told.map(([a, b]) => [exact.spelt(exact.over(BigInt(a), BigInt(b))),
                                                exact.percent([BigInt(a), 1n], [BigInt(b), 1n])]);""",
        pairs,
    )
    assert both == [[number(Fraction(*pair)), percent(Fraction(*pair))] for pair in pairs]


@needs_node
def test_numbers_are_printed_with_prefixes() -> None:
    # 2**31 / 10**9 = 2.147..., 2**31 / 2**30 = 2; 1000 / 1024 = 0.97...
    pairs = {
        (str(2**31), "bytes"): "2.15 GB, 2.00 GiB",
        ("1000", "bytes"): "1.00 kB, 0.98 KiB",
        ("999", "bytes"): "",
        ("291648307200", "FLOPs"): "291.65 GFLOPs",
        ("3140" + "0" * 20, "FLOPs"): "314.00 ZFLOPs",  # Brown et al. 2020, table D.1: 3.14e23 for GPT-3
        ("12_345_000".replace("_", ""), "MACs"): "12.34 MMACs",  # half to even
        ("124439808", "parameters"): "124.44M",
    }
    program = "const result = told.map(([n, unit]) => exact.prefixed([BigInt(n), 1n], unit));"
    assert run(written("gpt2"), program, [*pairs]) == [*pairs.values()]
    assert run(written("gpt2"), "const result = exact.prefixed([123456n, 5n], 'bytes');") == "", "a fraction"


TYPED = ["768", "50,257", " 1 024 ", "1_000", "0", "-3", "1e3", "1.5", "4*E", "٣", "0x10", "1" * 17, "9" * 400]
TYPED += ["1000000000000000", "1000000000000001", "", *HOSTILE]


@needs_node
def test_typed_input_is_a_size_or_refused() -> None:
    program = "const result = told.map((each) => exact.read(each, 10n ** 15n));"
    read = run(written("gpt2"), program, TYPED)
    right: dict[str, str] = {"768": "768", "50,257": "50257", " 1 024 ": "1024", "1_000": "1000", TYPED[13]: TYPED[13]}
    assert {text: each["number"] for text, each in zip(TYPED, read, strict=True) if each["number"]} == right
    assert [text for text, each in zip(TYPED, read, strict=True) if not each["number"] and not each["wrong"]] == [""]
    assert all(len(each["wrong"]) < 120 for each in read)


# By hand, at E = 768, A = 12, H = 4E = 3072 and L = 7.
ARITHMETIC = {
    "4*E": 3072,
    "2^15": 32768,
    "2**10 - 1": 1023,
    "128*1,024": 131072,
    "E/64": 12,
    "E/A/2": 32,  # from left to right
    "E/5*5": 768,  # exact in between
    "H/2 + 1": 1537,
    "(E+A)*2": 1560,
    "E − 3×A": 732,
    "-A + 20": 8,  # the sign binds tighter than the sum
    "-2^2 + 5": 1,  # and a power tighter than the sign
    "10^15": 10**15,
    "002": 2,
}
FAULTS = {
    "E/7": "“E/7” is 768/7, which is not an integer",
    "4*": "“4*” has no number or size at its end",
    "*4": "“*4” has no number or size before *",
    "(E": "“(E” has no closing bracket",
    "E)": "“E)” has no opening bracket",
    "4E": "“4E” has no operator between 4 and E",
    "128k": "“128k” has no operator between 128 and k",
    "E/(A-12)": "“E/(A-12)” divides by zero",
    "2^3^2": "“2^3^2” has a power of a power; multiply the exponents",
    "2^61": "“2^61” has an exponent that is not an integer from 0 to 60",
    "2^L": "“2^L” has an exponent that is not an integer from 0 to 60",
    "A-E": "“A-E” is out of range; a size is an integer from 1 to 1,000,000,000,000,000",
    "4*Q": "“4*Q” contains Q, which is not a size of this formula; its sizes are L, V, P, E, A, H",
    "__proto__": "“__proto__” is not an integer; enter digits, or arithmetic such as 4*E or 2^15",
    "valueOf": "“valueOf” contains valueOf, which is not a size of this formula; its sizes are L, V, P, E, A, H",
    "P": "“P” refers to itself: P, P",
}
FIELDS = """
const result = told.map((typed) => {
  const side = { ...exact.begin(sheet, 0), typed: new Map(Object.entries(typed)) };
  const { given, wrong } = exact.compute(sheet, side);
  return [Object.fromEntries(given), Object.fromEntries(wrong)];
});
"""


@needs_node
def test_field_reads_arithmetic_or_states_its_fault() -> None:
    others = {"E": "768", "A": "12", "L": "7"}
    read = run(written("gpt2"), FIELDS, [{**others, "P": text} for text in (*ARITHMETIC, *FAULTS)])
    assert [each["P"] for each, _ in read[: len(ARITHMETIC)]] == [*map(str, ARITHMETIC.values())]
    assert [wrong for _, wrong in read[len(ARITHMETIC) :]] == [{"P": fault} for fault in FAULTS.values()]


@needs_node
def test_fields_follow_each_other_or_state_a_cycle() -> None:
    follows, missing, cycle = run(
        written("gpt2"),
        FIELDS,
        [
            {"V": "2*P", "P": "A*L", "A": "3", "L": "5", "E": "A*64"},
            {"E": "64*A", "A": ""},
            {"E": "64*A", "A": "E/64", "L": "2"},
        ],
    )
    assert follows == [{"L": "5", "V": "30", "P": "15", "E": "192", "A": "3"}, {}]
    assert missing == [{}, {"E": "“64*A” needs a value for A"}]
    assert cycle[0] == {"L": "2"}
    assert cycle[1] == {"E": "“64*A” needs a value for A", "A": "“E/64” refers to itself: E, A, E"}


RESTORED = """
const result = told.map((address) => {
  const { state, said } = exact.restore(sheet, address);
  const [{ options, typed }] = state.sides, written = exact.write(sheet, state);
  return { written, said, sides: state.sides.length, tied: options.tied, typed: Object.fromEntries(typed) };
});
"""


@needs_node
def test_address_round_trips() -> None:
    address = "model=gpt2&o-tied=false&s-L=7&s-V=100&s-P=&s-E=24&s-A=6&by=rows&x=P&axes=log"
    two = address.replace("&by", "&2-model=gpt2&2-o-tied=true&2-s-L=1&2-s-V=2&2-s-P=3&2-s-E=4&2-s-A=5&by")
    arithmetic = "model=gpt2&o-tied=true&s-L=2%5E3&s-V=100&s-P=&s-E=64*A&s-A=6"
    one, both, usual, entered = run(written("gpt2"), RESTORED, [f"#{address}", f"#{two}", "", f"#{arithmetic}"])
    assert entered["written"] == arithmetic
    assert entered["typed"]["E"] == "64*A"
    assert one["written"] == address
    assert both["written"] == two
    assert (one["sides"], both["sides"], usual["sides"]) == (1, 2, 1)
    assert (one["tied"], usual["tied"]) == ("false", "true")
    assert one["said"] == both["said"] == usual["said"] == []
    assert usual["typed"]["E"] == "768"  # Radford et al. 2019, table 2: the smallest of four


@needs_node
@pytest.mark.parametrize(
    "odd", [*HOSTILE, "__proto__", "constructor", "%", "%E0%A4%A", "1e9", "-1", "10000000000000000"]
)
def test_hostile_address_changes_nothing(odd: str) -> None:
    addresses = [
        f"#s-E={odd}",
        f"#{odd}=1",
        f"#s-{odd}=1",
        f"#o-tied={odd}",
        f"#o-{odd}=true",
        f"#model={odd}",
        f"#by={odd}",
    ]
    addresses += [f"#2-model={odd}", f"#s-E={odd * 3000}", f"#{odd}", "#=", "#&&&===", f"#{'s-E=1&' * 4000}"]
    usual, *others = run(written("gpt2"), RESTORED, ["", *addresses])
    for address, found in zip(addresses, others, strict=True):
        assert found["typed"] == usual["typed"], address
        assert found["tied"] == usual["tied"]
        assert found["written"].split("&2-")[0] == usual["written"]
        assert len(found["said"]) <= 5
        assert all(len(each) < 200 for each in found["said"])
    assert sum(bool(found["said"]) for found in others) >= 7, "skipped parts are reported"


@needs_node
def test_slider_values_satisfy_every_condition() -> None:
    program = """
    const form = exact.form(sheet, { model: 0, at: told.at, options: told.at });
    const given = new Map(Object.entries(told.sizes).map(([k, v]) => [k, BigInt(v)]));
    const result = Object.fromEntries(form.asks.map((name) => [name, exact.ladder(form, sheet, given, name)]));
    """
    case = variants("gpt2")
    sizes = {"L": 12, "V": 50257, "P": 1024, "E": 768, "A": 12}
    ladders = {
        name: [*map(int, steps)]
        for name, steps in run(written("gpt2"), program, {"at": case.start, "sizes": sizes}).items()
    }
    assert all(768 % each == 0 for each in ladders["A"])  # A divides E
    assert all(each % 12 == 0 for each in ladders["E"])
    for name, steps in ladders.items():
        assert sizes[name] in steps
        assert steps == sorted(set(steps))
        assert len(steps) > 8
        assert steps[-1] > sizes[name]


@needs_node
@pytest.mark.parametrize(("target", "size"), sampled(2, [("gpt2", "E"), ("llama", "S")]))
def test_curve_points_are_values_of_the_formula(target: str, size: str) -> None:
    program = """
    const plain = ([a, b]) => b === 1n ? `${a}` : `${a}/${b}`;
    const side = { model: 0, at: told.at, options: told.at, typed: new Map(Object.entries(told.sizes)) };
    const result = exact.curve(sheet, side, "parts", told.size, 20).map(({ n, now, total, items }) =>
      [n, now, plain(total), plain(items.map(([, value]) => value).reduce(exact.plus))]);
    """
    case = shown(target)
    sizes = dict.fromkeys("BSLVPEHAGD", 8) | {"A": 4, "E": 48, "V": 100, "S": 24, "G": 2}
    told = {"at": case.start, "sizes": {name: str(value) for name, value in sizes.items()}, "size": size}
    formula = case.formula(case.start)
    assert isinstance(formula, Formula)
    needed = {each.name for each in formula.symbols}
    points = run(written(target), program, told)
    assert [n for n, now, *_ in points if now] == [str(sizes[size])]
    assert len(points) > 8
    for n, _, total, parts in points:
        at = {name: value for name, value in (sizes | {size: int(n)}).items() if name in needed}
        assert total == parts == str(formula.value(at)), "the parts of every point sum to its total"


@needs_node
def test_ticks_of_curves_have_the_prefixes_and_units_of_tables() -> None:
    source = written("gpt2")
    told = [
        (20_000_000_000, "parameters", "20B"), (1500, "parameters", "1.5K"), (0, "bytes", "0"),
        (50, "parameters", "50"), (2e13, "FLOPs", "20 TFLOPs"), (400_000_000, "bytes", "400 MB"),
        (500, "bytes", "500 bytes"), (1000, "bytes", "1 kB"), (1500, "FLOPs/byte", "1,500"),
        (0.25, "of the FLOPs", "25%"),
    ]  # fmt: skip
    program = "const draw = {};\n" + scripts(source)["live-curves.js"]
    program += "\nconst result = told.map(([n, unit]) => curves.amount(n, unit));"
    assert run(source, program, [each[:2] for each in told]) == [each[2] for each in told]


TURNED = """
const result = told.map(([address, to, memory]) => {
  const { sheet: at, state } = exact.restore(sheet, address);
  const { sheet: there, state: turned } = exact.turned(sheet, state, to);
  const { number } = exact.compute(there, turned.sides[0]);
  const fits = memory ? exact.fitting(there, turned.sides[0], memory[0], BigInt(memory[1])) : "";
  return [at.quantity, exact.write(there, turned), number?.join("/") ?? "", fits];
});
"""


@needs_node
def test_tabs_share_sizes_and_switches() -> None:
    model = resolve("gpt2")[0]
    quantities = usual_quantities([model], {})
    assert quantities == [*TABS]
    assert usual_quantities([resolve("vit")[0]], {}) == ["params", "flops", "train-memory"], "it generates nothing"
    source = page([model], quantities[:2], "1").decode()
    address = "#model=gpt2&s-L=5&s-E=24&s-A=4*3"
    first, second, back = run(
        source,
        TURNED,
        [[address, 0, None], [address, 1, None], ["#q=flops&model=gpt2&s-S=7&o-attention=causal", 1, None]],
    )
    assert first == ["params", "model=gpt2&o-tied=true&s-L=5&s-V=50257&s-P=1024&s-E=24&s-A=4*3", first[2], ""]
    assert first[2] == f"{12 * 5 * 24**2 + 13 * 5 * 24 + (50257 + 1024 + 2) * 24}/1"
    # one sequence of 512 tokens: 24BSLE^2 of the matrices, 4BS^2LE of attention, 2BSVE of the head
    flops = 24 * 512 * 5 * 24**2 + 4 * 512**2 * 5 * 24 + 2 * 512 * 50257 * 24
    assert second[0] == "params"
    assert second[1].startswith("q=flops&model=gpt2&")
    assert second[1].endswith("s-B=1&s-S=512&s-L=5&s-V=50257&s-P=1024&s-E=24&s-A=4*3")
    assert second[2] == f"{flops}/1"
    assert back[0] == "flops"
    assert "o-attention=causal" in back[1]
    assert "s-S=7&" in back[1]


@cache
def with_every_tab(target: str) -> str:
    model, _ = resolve(target)
    return page([model], usual_quantities([model], {}), "1").decode()


VISITED = """
const result = told.map((visits) => {
  let { sheet: here, state } = exact.restore(sheet, "");
  return visits.map(([quantity, preset, settings]) => {
    ({ sheet: here, state } = exact.turned(here, state, here.tabs.findIndex((each) => each.quantity === quantity)));
    const [side] = state.sides, found = here.models[0].presets.find(({ name }) => name === preset);
    if (found) {
      Object.assign(side, { preset, options: { ...side.options, ...found.options } });
      for (const [name, n] of Object.entries(found.numbers)) side.typed.set(name, `${n}`);
    }
    for (const { name, option, values } of here.models[0].switches)
      if (values.includes(settings[name])) (option ? side.options : side.at)[name] = settings[name];
    const address = exact.write(here, state), again = exact.restore(sheet, address);
    const [there, restored] = [exact.compute(here, side), exact.compute(again.sheet, again.state.sides[0])];
    const answer = ({ number, said }) => (number ? number.join("/") : said.join());
    return [answer(there), answer(restored), again.said, exact.write(again.sheet, again.state) === address];
  });
});
"""


def visited(target: str, *visits: Sequence[tuple[str, str, Mapping[str, str]]]) -> list[list[str]]:
    """Open tabs of a page one after another, choose a preset and settings on each, and return the answers.

    The link of every state has the same answer.
    """
    found: list[list[str]] = []
    for answers in run(with_every_tab(target), VISITED, visits):
        for answer, linked, notes, same in answers:
            assert (linked, notes, same) == (answer, [], True)
        found.append([answer for answer, *_ in answers])
    return found


@needs_node
@pytest.mark.parametrize(
    ("target", "presets"),
    [
        pytest.param("llama-3-8b", ["llama-3.2-1b", "llama-2-7b"], marks=pytest.mark.exhaustive),  # the first is tied
        ("gpt2", ["gpt2-medium"]),
    ],
)
def test_preset_has_its_own_numbers_on_every_tab(target: str, presets: Sequence[str]) -> None:
    right, trips = [], []
    for preset in presets:
        values = {}
        for quantity in TABS:
            model, _ = resolve(preset)
            formula = model.formula(quantity)
            sizes = {symbol(name): number for name, number in {"B": 1, "S": 512, "C": 512}.items()}
            values[quantity] = formula.value({size: (sizes | model.known)[size] for size in formula.symbols})
        for first in TABS:
            trips.append([(first, preset, {}), *((quantity, "", {}) for quantity in TABS)])
            right.append([f"{values[first]}/1", *(f"{each}/1" for each in values.values())])
    assert visited(target, *trips) == right
    if target == "llama-3-8b":
        assert right[0][0] == "1235814400/1"  # as printed by transformers for Llama 3.2 1B


@needs_node
@pytest.mark.exhaustive
def test_settings_are_kept_on_other_tabs() -> None:
    tied, plain, bf16 = {"tied": "true"}, {"tied": "false"}, {"recipe": "bf16"}
    first, second = visited(
        "llama-3-8b",
        [
            ("params", "", tied),
            ("train-memory", "", {}),
            ("kv-cache", "", {}),
            ("params", "", {}),
            ("params", "", plain),
        ],
        [("train-memory", "", bf16), ("params", "", {}), ("flops", "", {}), ("train-memory", "", {})],
    )
    # 8,030,261,248 parameters (the checkpoint of Llama 3 8B), of which the head has VE = 128,256 * 4,096
    assert first[0] == first[3] == f"{8_030_261_248 - 128_256 * 4_096}/1"
    assert first[4] == second[1] == "8030261248/1"
    model, _ = resolve("llama-3-8b", {"tied": "true"})
    assert first[1] == f"{model.formula('train-memory').value({**model.known, B: 1, S: 512})}/1"
    assert second[0] == second[3] != first[1]


@needs_node
def test_tab_without_the_formula_of_a_setting_has_no_number() -> None:
    none = {"head": "none"}
    (lost, preset, custom) = visited(
        "gpt2",
        [("inference-memory", "", none), ("flops", "", {}), ("kv-cache", "", {}), ("params", "", {"tied": "false"})],
        [("params", "cerebras-gpt-111m", {}), ("flops", "", {}), ("kv-cache", "", {}), ("flops", "gpt2-medium", {})],
        [("params", "cerebras-gpt-111m", {}), ("params", "gpt2", {}), ("flops", "", {})],
    )
    without = "set head=lm on another tab, or generate a page with --option head=none"
    assert lost[1] == lost[3] == f"this tab has no formula for head=none; {without}"
    # the cache of 512 tokens, 2 tensors of bf16 in 12 layers of 768 features, has no head
    assert lost[2] == f"{2 * 2 * 512 * 12 * 768}/1"
    other = "choose a preset of this tab, or generate a page of cerebras-gpt-111m with --live"
    assert preset[1] == f"the formula of this tab does not apply to cerebras-gpt-111m; {other}"
    assert preset[2] == f"{2 * 2 * 512 * 10 * 768}/1"  # Dey et al. 2023, table 1: 10 layers, hidden size 768
    assert preset[3].endswith("/1")
    assert custom[2].endswith("/1")


@needs_node
def test_largest_size_that_fits_a_memory() -> None:
    source = page([resolve("llama-2-7b")[0]], ["kv-cache"], "1").decode()
    # 2 tensors of bf16 with 32 layers of 32 heads of 128 features: 2*2*32*32*128 = 524,288 bytes per token
    told = [["", 0, ["C", 10**9]], ["#s-B=3", 0, ["C", 3 * 2048 * 524288]], ["#s-C=9", 0, ["B", 524287]]]
    told += [["", 0, ["G", 10**9]], ["", 0, ["S", 10**9]], ["#s-B=", 0, ["C", 10**9]]]
    assert [fits for *_, fits in run(source, TURNED, told)] == [
        # 1 GiB = 1,073,741,824 bytes: 999,817,216 bytes are 953.5 MiB, and 3,221,225,472 are exactly 3 GiB
        "C = 1,907 needs 999,817,216 bytes (999.82 MB, 953.50 MiB), which fits in 1,000,000,000 bytes "
        "(1.00 GB, 953.67 MiB); C = 1,908 needs 1,000,341,504 bytes (1.00 GB, 954.00 MiB).",
        "C = 2,048 needs 3,221,225,472 bytes (3.22 GB, 3.00 GiB), which fits in 3,221,225,472 bytes "
        "(3.22 GB, 3.00 GiB); C = 2,049 needs 3,222,798,336 bytes (3.22 GB, 3.00 GiB).",
        "Nothing fits: B = 1 needs 4,718,592 bytes (4.72 MB, 4.50 MiB), more than 524,287 bytes "
        "(524.29 kB, 512.00 KiB).",
        *[
            f"There is no largest {size}, because the formula does not grow with it, or only some values are allowed."
            for size in "GS"  # G divides A; the cache has C tokens, not S
        ],
        "There is no answer, because the formula has no value at these sizes.",
    ]


def test_rows_of_a_cache_are_keys_and_values() -> None:
    told = json.loads(scripts(with_every_tab("llama-3-8b"))["sheet"])
    assert [tab["unit"] for tab in told["tabs"]] == ["parameters", "FLOPs", "bytes", "bytes", "bytes"]
    names = {row[0] for row in told["rows"]}
    assert {"layers.*.self_attn (keys)", "layers.*.self_attn (values)", "layers.*.self_attn.softmax"} <= names


@needs_node
def test_scripts_are_complete_without_blanks() -> None:
    for source in (*scripts(written("gpt2")).values(),):
        if not source.startswith("{"):
            subprocess.run([str(NODE), "--check", "-"], input=source, text=True, check=True)


def test_terms_parts_and_boxes_know_their_rows() -> None:
    model = variants("gpt2").model
    found = figure_facts(model, model.params)
    rows = [row for row in model.params.rows if row.each != 0]
    # wte, wpe, ln_1, c_attn, c_proj, ln_2, c_fc, c_proj, ln_f: 12LE^2 are four matrices, and 13LE all rows of a layer
    assert rows_of_terms(model.params, rows) == [[3, 4, 6, 7], [2, 3, 4, 5, 6, 7], [0], [1], [8]]
    parts = {"embeddings": [0, 1], "attention": [3, 4], "MLP": [6, 7], "norms": [2, 5, 8]}
    assert {name: rows for name, rows in rows_of_parts(model.params, rows).items() if rows} == parts
    boxes = {key: places for key, _, _, places in Sheet().figure(found)}
    assert boxes["h.attn"] == [3, 4]
    assert boxes["h"] == [2, 3, 4, 5, 6, 7]
    assert boxes["lm_head"] == [], "it is tied"


LINKED = {
    "gpt2": "flops",
    "deepseek-v3": "params",
    "gemma-3-1b": "flops",
    "bart-large": "params",
    "mamba2-2.7b": "flops",
}


@pytest.mark.parametrize("target", sampled(2, LINKED))
def test_every_row_is_in_a_box_and_a_part(target: str) -> None:
    model, _ = resolve(target)
    formula = model.formula(LINKED[target])
    rows = [row for row in formula.rows if row.each != 0]
    boxes = [places for _, _, _, places in Sheet().figure(figure_facts(model, formula))]
    assert {*range(len(rows))} == {place for places in boxes for place in places}
    totals = role_totals(formula)
    for role, places in rows_of_parts(formula, rows).items():
        shown = sum(rows[place].count * rows[place].each for place in places)
        assert expand((shown - totals[role]).xreplace(formula.relations)) == 0, role


# At V = 100, E = 7, A = 2, H = 5, S = 3; each value by hand.
VALUES = {
    floor(V / 64) * E**2 / A - 3 * E: "7/2",  # 1 * 49/2 - 21
    E / 3 + H / A: "29/6",  # 14/6 + 15/6
    ceiling(V / E) + floor(-V / E): "0",  # 15 - 15
    ceiling(-V / E): "-14",
    Max(E, A * H) - Min(E, A * H): "3",
    Max(E / A, H / S, 3): "7/2",  # 3.5, 1.67, 3
    Min(E / A, H / S, 3): "5/3",
    (E - H) ** 3 / E**2: "8/49",
    (A - E) ** 3: "-125",
    10**15 * V * (E + H): "1200000000000000000",
    (E + 1) / (H - 1) ** 2: "1/2",  # 8/16
}


@needs_node
def test_tree_value_matches_its_formula() -> None:
    program = """
    const sizes = new Map([["V", 100n], ["E", 7n], ["A", 2n], ["H", 5n], ["S", 3n]]);
    const result = told.map((tree) => exact.value(tree, sizes)).map(([a, b]) => b === 1n ? `${a}` : `${a}/${b}`);
    """
    assert run(written("gpt2"), program, [data(tree(expr)) for expr in VALUES]) == [*VALUES.values()]


PRESETS = """
const result = sheet.models[0].presets.map(({ name, options, numbers }) => [name, options, numbers]);
"""


@needs_node
def test_the_page_has_the_sizes_of_every_preset() -> None:
    found = {name: (at, numbers) for name, at, numbers in run(written("llama"), PRESETS, [])}
    presets = shown("llama").presets()
    assert list(found) == list(presets)
    for name, (preset, setting) in presets.items():
        sizes = {size.name: number for size, number in preset.known.items()}
        assert found[name][1].items() <= sizes.items()
        assert found[name][0] == setting
    assert found["llama-2-7b"][1]["H"] == 11_008  # intermediate_size in its config.json


@pytest.mark.parametrize("target", [pytest.param("llama-3-8b", marks=pytest.mark.exhaustive), "bert"])
def test_the_page_of_a_model_with_all_tabs_has_the_full_derivation(target: str) -> None:
    model, _ = resolve(target)
    quantities = usual_quantities([model], {})
    source = page([model], quantities, "0").decode()
    assert len(source.encode()) < MOST
    assert len(quantities) == (5 if target == "llama-3-8b" else 3)  # no cache
    root = Page(source).root
    headings = [node.text.partition("#")[0].strip() for node in root.all("h2") + root.all("h3")]
    assert {"The model", "Self-attention", "The total"} <= {*headings}
    assert not {"Row by row", "Variants"} & {*headings}  # the page computes these itself
    assert not root.all("math") or all("displaystyle" not in node.attributes for node in root.all("math"))


@pytest.mark.parametrize("target", sampled(3, CASES))
def test_page_is_small_and_loads_nothing(target: str) -> None:
    source = written(target)
    assert len(source.encode()) < MOST == 200_000
    root = Page(source).root
    policy = next(node.attributes["content"] for node in root.all("meta") if "http-equiv" in node.attributes)
    allowed = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    running = [node for node in root.all("script") if node.attributes.get("type") != "application/json"]
    assert allowed["script-src"].split() == [_hash(node.text) for node in running]
    assert allowed["style-src"].split() == [_hash(node.text) for node in root.all("style")]
    for node in root.walk():
        assert not [name for name in node.attributes if name.startswith("on") or name in ("style", "src", "srcset")]
        assert node.tag not in ("iframe", "object", "embed", "img", "form", "base")
    for node in running:
        assert not re.search(
            r"\beval\b|\bFunction\b|innerHTML|outerHTML|document\.write|fetch\(|XMLHttp|import\(", node.text
        )
    assert not re.search(
        r"parseFloat|Math\.(?!max|min)", "".join(scripts(source)[name] for name in ARITHMETIC_SCRIPTS)
    ), "no floating point"


def test_page_is_readable_without_scripts() -> None:
    root = Page(written("gpt2")).root
    ids = [node.attributes["id"] for node in root.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    (live,) = [node for node in root.walk() if node.attributes.get("id") == "live"]
    assert "hidden" in live.attributes, "nothing is shown that does nothing"
    assert "124,439,808" in _visible(root)  # as printed by transformers for GPT2LMHeadModel at the sizes of gpt2
    assert "Enable JavaScript" in root.all("noscript")[0].text
    levels = [int(node.tag[1]) for node in root.walk() if re.fullmatch(r"h\d", node.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def _visible(node: Node) -> str:
    if node.tag in ("script", "style") or "hidden" in node.attributes:
        return ""
    return "".join(each if isinstance(each, str) else _visible(each) for each in node.inside)


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


@pytest.mark.parametrize("odd", HOSTILE)
def test_hostile_names_are_only_data(odd: str) -> None:
    told = {"name": odd, "sizes": {odd: [odd]}}
    root = Page(Live(told).spell(Document(odd, odd, [Paragraph([odd])]))).root
    data_, *running = root.all("script")
    assert json.loads(data_.text) == told
    assert len(running) == 1 + len(SCRIPTS)
    assert root.all("title")[0].text == odd


def test_only_switches_with_an_effect_are_shown() -> None:
    case = variants("llama")
    assert {switch.name for switch in case.switches} >= {"recipe", "optimizer"}
    assert case.switches[0].name == "tied", "before the conventions"
    assert {"implementation=eager", "recompute=none", "head=lm"} <= set(case.held), "what there is no room for is named"
    assert len(case.places()) <= FORMS
    assert "activation" not in {switch.name for switch in variants("gpt2").changing}, "no function stores anything"
    at = {**case.start, "optimizer": "sgd"}
    other = case.formula(at)
    assert isinstance(other, Formula)
    assert other.conventions["optimizer"] == "sgd"


def test_only_presets_that_the_formula_evaluates_are_offered() -> None:
    # the head of Llama 3.2 1B is tied (its config.json), and every quantity that it changes has a switch for that
    assert variants("llama").presets()["llama-3.2-1b"][1] == {"tied": "true"}
    assert "llama-3.2-1b" not in Variants(variants("llama").model, "train-memory", {}, most=1).presets(), "no switches"
    for name, (preset, setting) in variants("deepseek-v3").presets().items():
        formula = variants("deepseek-v3").formula({**variants("deepseek-v3").start, **setting})
        assert isinstance(formula, Formula)
        assert formula.value({size: preset.known[size] for size in formula.symbols}) == preset.params.value(), name


def test_preset_with_another_formula_is_not_offered() -> None:
    model, _ = resolve("gpt2")
    assert "cerebras-gpt-111m" in Variants(model, "params", {}).presets()
    # its activation_function is gelu and that of GPT-2 is gelu_new, which has more operations (its FLOPs: count=all)
    assert "cerebras-gpt-111m" not in Variants(model, "flops", {}).presets()


def test_page_of_two_models() -> None:
    models = [resolve(name)[0] for name in ("gpt2", "llama-2-7b")]
    source = page(models, ["params"], "1").decode()
    assert len(source.encode()) < MOST
    told = json.loads(scripts(source)["sheet"])
    assert [each["name"] for each in told["tabs"][0]["models"]] == ["gpt2", "llama-2-7b"]
    text = _visible(Page(source).root)
    assert "124,439,808" in text
    assert "6,738,415,616" in text  # Llama 2's own count, as in its checkpoint
    ids = [node.attributes["id"] for node in Page(source).root.walk() if "id" in node.attributes]
    assert len(ids) == len(set(ids))


def test_page_is_reproducible() -> None:
    model = resolve("mistral-7b-v0.1", {}, (), ["kv-cache"])[0]
    assert page([model], ["kv-cache"], "1") == page([model], ["kv-cache"], "1")
    once, again = (sheet([[Variants(model, "kv-cache", {}).facts()]], Sheet()) for _ in range(2))
    assert once == again


REFUSED = {
    ("gpt2", "-o", "x.pdf", "--live"): "--live writes .html, but x.pdf is .pdf",
    (
        "gpt2",
        "-o",
        "x.html",
        "--live",
        "-q",
        "params",
        "-q",
        "decode-time",
    ): "decode-time is a lower bound; omit --live",
    ("vit", "-o", "x.html", "--live", "-q", "params", "-q", "kv-cache"): "this attention is not causal",
    ("gpt2", "-o", "x.tex", "--live", "--macros"): "remove one of the two",
    ("gpt2", "-o", "x.tex", "--live", "--fragment"): "remove one of the two",
    ("gpt2", "llama", "t5", "-o", "x.html", "--live"): "at most two models, but 3 are given",
    ("gpt2", "gpt2", "-o", "x.html", "--live"): "gpt2 is given twice",
    ("gpt2", "gpt3", "-o", "x.html", "--live"): "gpt3",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_invalid_live_pages_give_a_one_sentence_error(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["derive", *arguments])
    assert result.exit_code == 2, result.output
    assert REFUSED[arguments] in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


def test_command_writes_a_live_page(tmp_path: Path) -> None:
    target = tmp_path / "x.html"
    result = CliRunner().invoke(cli, ["derive", "gpt2", "-o", str(target), "--live"])
    assert result.exit_code == 0, result.output
    told = json.loads(scripts(target.read_text("utf-8"))["sheet"])
    assert [tab["quantity"] for tab in told["tabs"]] == [*TABS]
    assert told["tabs"][0]["models"][0]["start"]["numbers"]["E"] == 768
    assert target.stat().st_size < MOST
