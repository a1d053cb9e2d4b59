"""Sweeps: each row equals ``show --set`` or is omitted as it is refused there, and memory use is constant."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import symformer as sf
from symformer.algebra import grid, row_selection
from symformer.algebra.grid import Axis, Grid
from symformer.algebra.row_files import RowFile
from symformer.algebra.row_selection import Objective, ParetoFront, TopRows
from symformer.algebra.sweep import Sweep, sweep
from symformer.commands.cli import cli
from symformer.documents import tables
from symformer.language.amounts import amount
from symformer.language.errors import SymformerError
from symformer.targets.resolution import resolve


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["sweep", *arguments], prog_name="symformer")


def listed(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def rows_of(found: Sweep) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in found.table().values()), strict=True))


@pytest.mark.parametrize(
    ("target", "over", "quantity"),
    [
        ("gpt2", {"E": "6:30:6", "A": "3,4"}, "params"),
        ("llama-2-7b", {"A": "1:9:1", "G": "1:9:1", "D": "2:5:1"}, "params"),
        ("falcon-7b", {"E": "142:1136:142", "A": "71,142"}, "params"),
        ("gpt-neo-125m", {"E": "12:60:12", "A": "8,12", "L_local": "1,2"}, "params"),
        ("mixtral-8x7b", {"X": "1:5:1", "K": "1:5:1"}, "active-params"),
        ("gemma-2-2b", {"S": "4:8:1", "C_win": "2:9:1"}, "flops"),
        ("deepseek-v3", {"L_dense": "1:3:1", "D_rope": "1:6:1"}, "kv-cache"),
    ],
)
def test_each_row_equals_the_output_of_show(target: str, over: Mapping[str, str], quantity: str) -> None:
    run_sizes = {"B": 3, "S": 5, "C": 7, "W": 2}
    given = {
        name: number
        for name, number in run_sizes.items()
        if name not in over and name in map(str, sf.model(target).formula(quantity).symbols)
    }
    found = sweep(target, over, quantity, sizes=given)
    rows = {row[:-1]: row[-1] for row in rows_of(found)}
    left_out = 0
    for row in product(*(Axis.of(name, values).values for name, values in over.items())):
        sets = [f"{name}={number}" for name, number in {**given, **dict(zip(over, row, strict=True))}.items()]
        try:
            model, _ = resolve(target, {}, sets, [quantity])
            formula = model.formula(quantity)
            model.check_run_sizes([formula])
            expected = formula.value()
        except SymformerError:
            left_out += 1
            assert row not in rows, row
        else:
            assert rows[row] == expected, row
    assert found.rows.count == len(rows) + left_out
    assert sum(found.rejected_by_condition.values()) == left_out
    assert rows


def test_the_last_size_varies_fastest_and_both_ends_are_included() -> None:
    found = listed("component:mlp", "--grid", "E=2:4:2", "--grid", "H=5,3")
    assert found["columns"] == ["E", "H", "params"]
    # 2EH + E + H
    assert found["rows"] == [[2, 5, 27], [2, 3, 17], [4, 5, 49], [4, 3, 31]]
    assert (found["configs"], found["left_out"]) == (4, {})


def test_several_quantities_and_dependent_sizes() -> None:
    found = listed(
        *("gpt2", "--grid", "E=768,1536", "-q", "params", "-q", "flops", "--set", "B=1", "--set", "S=10"),
        *("--where", "A=E/64", "--where", "P = E"),
    )
    assert found["columns"] == ["E", "A", "P", "params", "flops"]
    # 12*12*E² + 13*12*E + (V + P + 2)*E; 24BSE²L + 4BS²EL + 2BSVE, as on GPT-2's page
    for width, heads, positions, params, flops in found["rows"]:
        assert (heads, positions) == (width // 64, width)
        assert params == 144 * width**2 + 156 * width + (50_257 + width + 2) * width
        assert flops == 10 * (24 * 12 * width**2 + 4 * 10 * 12 * width + 2 * 50_257 * width)
    assert found["where"] == {"A": "E/64", "P": "E"}
    assert found["given"] == {"B": 1, "S": 10, "L": 12, "V": 50_257}


def test_rows_with_a_non_integer_dependent_size_are_skipped() -> None:
    arguments = ["gpt2", "--grid", "E=64:288:32", "--where", "A=E/64", "--limit", "2", "--sort-by", "max:A"]
    found = listed(*arguments)
    assert [row[:2] for row in found["rows"]] == [[256, 4], [192, 3]]
    assert found["left_out"] == {"A = E/64 is an integer from 1 to 1,000,000,000,000,000": 4}
    assert [row[:2] for row in listed(*arguments[:5])["rows"]] == [[64, 1], [128, 2], [192, 3], [256, 4]]
    assert [row[0] for row in listed(*arguments[:5], "--filter", "A >= 3")["rows"]] == [192, 256]


@pytest.mark.parametrize(("most", "kind"), [(5_000, "int64"), (2 * 10**13, "object")])
def test_a_hundred_thousand_random_rows_match_python_integers(tmp_path: Path, most: int, kind: str) -> None:
    """12LE² + 13LE + VE + PE + 2E with Python's integers; beyond 2**63 at the larger sizes."""
    source = random.Random(most)  # noqa: S311
    rows = [[source.randint(1, most) * 12, source.randint(1, most), source.randint(1, most)] for _ in range(100_000)]
    place = tmp_path / "configs.csv"
    place.write_text("E,L,V\n" + "".join(f"{e},{layers},{v}\n" for e, layers, v in rows))
    found = sweep("gpt2", RowFile.open(str(place)))
    assert found.kinds["params"] == kind
    expected = [12 * n * e * e + 13 * n * e + (v + 1_024 + 2) * e for e, n, v in rows]
    assert found.table()["params"].tolist() == expected
    assert (max(expected) >= 2**63) == (kind == "object")


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 4), (1, 7, 2), (40, 1, 1)])
@pytest.mark.parametrize("room", [1, 2, 6, 1000])
def test_a_grid_is_split_into_pieces_in_order(shape: tuple[int, int, int], room: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(grid, "PIECE", room)
    axes = tuple(Axis.of(name, range(1, count + 1)) for name, count in zip("ELH", shape, strict=True))
    found = [
        row
        for piece in Grid(axes).chunks()
        for row in zip(*(piece.column(name).tolist() for name in "ELH"), strict=True)
    ]
    assert found == list(product(*(axis.values for axis in axes)))
    assert all(piece.count <= room for piece in Grid(axes).chunks())


FILTERS: dict[str, Callable[[int, int, int], bool]] = {
    "params <= 2000": lambda e, h, n: n <= 2_000,
    "params < 2e3": lambda e, h, n: n < 2_000,
    "2K <= params": lambda e, h, n: n >= 2_000,
    "params > 2 * E*H + 50": lambda e, h, n: n > 2 * e * h + 50,
    "H = 4*E": lambda e, h, n: h == 4 * e,
    "H == 4*E": lambda e, h, n: h == 4 * e,
    "H != 4*E": lambda e, h, n: h != 4 * e,
    "E divides H": lambda e, h, n: h % e == 0,
    "2*E divides H": lambda e, h, n: h % (2 * e) == 0,
    "E - 7 divides H": lambda e, h, n: e != 7 and h % (e - 7) == 0,
    "H/3 <= E/2": lambda e, h, n: 2 * h <= 3 * e,
    "H//3 = E//2": lambda e, h, n: h // 3 == e // 2,
    "max(E, H) >= ceil(E*H/30)": lambda e, h, n: max(e, h) >= -(-e * h // 30),
}


def test_filters_agree_with_python() -> None:
    model = sf.model("component:mlp")
    every = [(e, h, 2 * e * h + e + h) for e in range(1, 41) for h in range(1, 61)]
    for said, holds in FILTERS.items():
        expected = [row for row in every if holds(*row)]
        found = sweep(model, {"E": "1:40", "H": "1:60"}, filters=[said])
        assert rows_of(found) == expected, said
        assert 0 < len(expected) < len(every), said
        assert sum(found.rejected_by_condition.values()) == len(every) - len(expected)


def beats(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("most", [5, 60, 10**6])
@pytest.mark.parametrize("kind", ["int64", "object"])
def test_a_pareto_front_has_exactly_the_undominated_rows(count: int, most: int, kind: str) -> None:
    """Compared with every pair; of equal rows, the first is kept."""
    source = np.random.default_rng(count * most)
    rows = source.integers(-most, most, (400, count))
    front = ParetoFront([Objective(f"c{place}") for place in range(count)])
    for piece in np.split(rows, 8):
        columns = [column.astype(kind) for column in piece.T]
        front.see(columns, lambda places, columns=columns: {f"c{n}": c[places] for n, c in enumerate(columns)})  # type: ignore[misc]
    points = list(dict.fromkeys(map(tuple, rows.tolist())))
    expected = sorted(point for point in points if not any(beats(other, point) for other in points))
    assert list(zip(*(column.tolist() for column in front.found.values()), strict=True)) == expected


def test_the_pareto_front_of_a_sweep() -> None:
    """The most parameters for the smallest H: 2EH + E + H with E up to 5 has one row for each H, the one with E = 5."""
    found = listed("component:mlp", "--grid", "E=1:5", "--grid", "H=1:4", "--pareto", "max:params,H")
    assert sorted(found["rows"]) == [[5, h, 2 * 5 * h + 5 + h] for h in range(1, 5)]
    assert found["pareto"] == ["most params", "least H"]


@pytest.mark.parametrize("most", [False, True])
@pytest.mark.parametrize("count", [1, 7, 400, 1000])
def test_the_top_rows_equal_the_first_rows_of_a_sort(count: int, most: bool) -> None:
    source = np.random.default_rng(count)
    rows = source.integers(1, 50, 400)
    first = TopRows(Objective("c", most), count)
    for place, piece in enumerate(np.split(rows, 8)):
        first.see([piece], lambda places, piece=piece, place=place: {"c": piece[places], "n": places + 50 * place})  # type: ignore[misc]
    expected = sorted(range(400), key=lambda place: (-rows[place] if most else rows[place], place))[:count]
    assert first.found["n"].tolist() == expected


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("7e9", "", 7 * 10**9),
        ("6.74e9", "", 6_740_000_000),
        ("7,000", "", 7_000),
        ("80GB", "bytes", 80 * 10**9),
        ("80 GiB", "bytes", 80 * 2**30),
        ("1.5KiB", "bytes", 1_536),
        ("70B", "elements", 70 * 10**9),
        ("123456789012345678901", "", 123_456_789_012_345_678_901),
    ],
)
def test_amounts_are_parsed(text: str, unit: str, value: int) -> None:
    assert amount(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("1.5", "", "'1.5' is 3/2, which is not an integer"),
        ("7B", "bytes", "'7B' can be bytes or billions of bytes; write it as 7e9, or as 7GB"),
        ("7GB", "elements", "'7GB' is in bytes, but this quantity is counted in elements"),
        ("7X", "", "'7X' ends in the unknown suffix 'X'"),
        ("1e99", "", "the exponent of '1e99' is more than 40"),
        ("-7", "", "'-7' is not a valid amount; write 7000000000, 7e9 or 80GB"),
        ("٣", "", "'٣' is not a valid amount"),
        ("9" * 100_000, "", "is not a valid amount"),
        ("__import__('os')", "", "is not a valid amount"),
    ],
)
def test_invalid_amounts_are_refused(text: str, unit: str, said: str) -> None:
    with pytest.raises(SymformerError) as refused:
        amount(text, unit)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--grid", "E=512:8190:128"], "does not reach 8190 in steps of 128 (the end is included); end at 8064"),
        (["--grid", "E=9:5:1"], "'E=9:5:1' ends below its start; write E=5:9:1"),
        (["--grid", "E=1:5:0"], "E=0: 0 is not positive; a size is a positive integer"),
        (["--grid", "E=1:5:1:1"], "'E=1:5:1:1' has 4 numbers; a range is START:STOP:STEP, including both ends"),
        (["--grid", "E=1:"], "E=1:: a value is missing; write START:STOP:STEP, or VALUE,VALUE"),
        (["--grid", "E"], "'E' is not of the form NAME=START:STOP:STEP, such as E=512:8192:128"),
        (["--grid", "E=1,2,1"], "E has the value 1 twice; give each value once"),
        (["--grid", "E=4*L"], "E=4*L is not a number; define a size by others with --where"),
        (["--grid", "E=1,2", "--grid", "E=3"], "E is given twice; keep one"),
        (["--grid", "Q=1,2"], "unknown symbol 'Q'"),
        (["--grid", "S=1,2"], "S has no effect: gpt2.params does not depend on S (sequence length); choose"),
        (["--grid", "E=768", "--set", "E=5"], "E is varied or solved for, but also set to 5; remove one of the two"),
        (["--grid", "E=1:1000000000", "--grid", "L=1:1000000000"], "combinations; at most 1,000,000,000,000,000"),
        (["--grid", "E=1:1000000", "--grid", "L=1:1000000"], "gpt2 would have 1,000,000,000,000 rows, but"),
        (["--grid", "E=768", "-q", "flops"], "a sweep of gpt2 needs a value for B, S; set one value with --set"),
        (["--grid", "E=768", "-q", "intensity"], "needs a value for B, S; set one value with --set"),
        (["--grid", "E=768", "--filter", "params"], "'params' is not a condition"),
        (["--grid", "E=768", "--filter", "flop < 3"], "unknown symbol 'flop'"),
        (["--grid", "E=768", "--filter", "0 divides E"], "'0 divides E' is never true, because 0 divides no number"),
        (["--grid", "E=768", "--filter", "5 < 3"], "'5 < 3' is the same for every row"),
        (["--grid", "E=768", "--filter", "2*E != E + E"], "'2*E != E + E' is the same for every row"),
        (["--grid", "E=768", "--filter", "7 divides 9"], "'7 divides 9' is the same for every row"),
        (["--grid", "E=768", "--filter", "E - E divides L"], "0 divides no number"),
        (["--grid", "L=nan"], "L=nan: nan is not a number; sizes are positive integers"),
        (["--grid", "E=1:inf"], "E=inf: inf is not a number; sizes are positive integers"),
        (["--grid", "E=768", "--filter", "__import__('os') < 3"], "is not plain arithmetic"),
        (["--grid", "E=768", "--pareto", "params"], "a Pareto front needs at least two different columns, not params"),
        (["--grid", "E=768", "--pareto", "params,flop"], "not a column; the numeric columns are E, A, params"),
        (["--grid", "E=768", "--limit", "3", "--pareto", "E,params"], "--pareto and --limit cannot be combined"),
        (["--grid", "E=768", "--sort-by", "E"], "requires --limit, the number of rows to keep"),
        (["--grid", "E=768", "--limit", "0"], "limit=0 is out of range; choose 1 to 1,000,000"),
        (["--grid", "E=768", "--json", "-o", "x.csv"], "remove one of the two"),
        (["--grid", "E=768", "-o", "x.txt"], "x.txt ends in .txt; a sweep needs the extension .csv"),
        (["--grid", "E=768", "--from", "x.csv"], "--grid defines a grid and --from reads a file; remove one"),
        ([], "define a grid with --grid, or read a file with --from"),
        (["--from", "nowhere.csv"], "nowhere.csv is not a file"),
        (["--grid", "E=12:240000:12", "--json"], "rows remain, but a JSON document has at most 10,000"),
    ],
)  # fmt: skip
def test_invalid_sweeps_are_refused_in_one_sentence(arguments: list[str], said: str) -> None:
    result = run("gpt2", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "E,L\n768,12\n768,x\n", "a.csv, line 3: L is 'x', which is not an integer"),
        ("a.csv", "E,L\n768,12.0\n", "a.csv, line 2: L is 12.0, which is not written as an integer; write 12"),
        ("a.csv", "E,L\n768,12.5\n", "a.csv, line 2: L is 12.5, which is not an integer"),
        ("a.csv", f"L\n{10**30}\n", "a.csv, line 2: L is a number of 31 digits; a size is an integer from 1 to"),
        ("a.csv", "L\n" + "7" * 90_000 + "\n", "a.csv, line 2: L is a number of 90,000 digits; a size has at most 15"),
        ("a.csv", "E,L\n768,0\n", "a.csv, line 2: L is 0; a size is an integer from 1"),
        ("a.csv", f"E\n{'9' * 5_000}\n", "a.csv, line 2: E is a number of 5,000 digits; a size has at most 15"),
        ("a.csv", f"E\n{'9' * 20}\n", "a.csv, line 2: E is 99999999999999999999; a size is an integer from 1 to"),
        ("a.csv", "E\n=1+1\n", "a.csv, line 2: E is '=1+1', which is not an integer"),
        ("a.csv", "E\n\u0663\n", "which is not an integer"),
        ("a.csv", "E,L\n768\n", "a.csv, line 2: 1 values for 2 columns"),
        ("a.csv", "E,E\n768,1\n", "a.csv has two columns named E; remove one"),
        ("a.csv", "hidden_size\n768\n", "'hidden_size' is neither a size nor a text label next to sizes: unknown"),
        ("a.csv", "", "a.csv has no columns"),
        ("a.csv", "E" * 200_000, "a.csv, line 1: field larger than field limit"),
        ("a.csv", "E\n", "a.csv has no rows"),
        ("a.jsonl", '{"E": 768}\n{"L": 3}\n', "a.jsonl, line 2: the names differ from the first line: E, L"),
        ("a.jsonl", '{"E": 768.0}\n', "a.jsonl, line 1: E is 768.0, which is not written as an integer"),
        ("a.jsonl", '{"L": 1, "L": 2}\n', "a.jsonl, line 1: 'L' is given twice, as 1 and as 2; remove one"),
        ("a.jsonl", '{"E": 7, "L": 1}\n{"E": 7, "L": 1, "E": 7}\n', "line 2: 'E' is given twice, as 7 and as 7"),
        ("a.jsonl", '{"E": 1e30}\n', "a.jsonl, line 1: E is a number of 31 digits; a size is an integer from 1 to"),
        ("a.csv", "E,run\n768,7\n", "the column 'run' is neither a size nor a text label next to sizes: unknown"),
        ("a.csv", "name,note\na,b\n", "the column 'name' is neither a size"),
        ("a.csv", "E,params\n768,mine\n", "the label 'params' has the name of a quantity; rename the column"),
        ("a.jsonl", "[768]\n", 'a.jsonl, line 1: not a JSON object, such as {"E": 768}'),
        ("a.parquet", "no", "a.parquet is not a Parquet file"),
        ("a.txt", "E\n1\n", "a.txt has an unsupported format; use a .csv, .parquet or .jsonl file"),
    ],
)  # fmt: skip
def test_invalid_input_files_are_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    result = run("gpt2", "--from", str(tmp_path / name), "-o", str(tmp_path / "out.csv"))
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "out.csv").exists()
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize("content", ["E\n768\n".encode("utf-16"), b'{"E": 768}\n\xff\n', b"E\n768\n\xff\n"])
def test_a_file_of_another_encoding_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    result = run("gpt2", "--from", str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (2, "")
    if name == "a.csv" or not content.startswith(b"E"):
        assert result.stderr.endswith(f"{name} is not UTF-8 text\n")


def test_files_of_every_format_survive_a_round_trip(tmp_path: Path, monkeypatch: Any) -> None:
    arguments = ["component:mlp", "--grid", "E=1:300", "--grid", "H=2:40:2"]
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        result = run(*arguments, "-o", str(tmp_path / name))
        assert (result.exit_code, result.stdout) == (0, ""), result.output
        assert result.stderr == f"6,000 of 6,000 configs\nwrote {tmp_path / name}\n"
        again = (tmp_path / name).read_bytes()
        run(*arguments, "-o", str(tmp_path / name))
        assert (tmp_path / name).read_bytes() == again
    with (tmp_path / "a.csv").open(newline="") as file:
        read = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
    every = [{"E": e, "H": h, "params": 2 * e * h + e + h} for e in range(1, 301) for h in range(2, 41, 2)]
    assert read == every
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == every
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pylist() == every
    with_arrow = (tmp_path / "a.csv").read_bytes()
    missing = tables.import_module
    monkeypatch.setattr(tables, "import_module", lambda name: missing("no" + name))
    run(*arguments, "-o", str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_bytes() == with_arrow
    refused = run(*arguments, "-o", str(tmp_path / "b.parquet"))
    assert "Parquet needs pyarrow; run pip install pyarrow" in refused.stderr
    assert not (tmp_path / "b.parquet").exists()


def test_numbers_beyond_64_bits_in_files(tmp_path: Path) -> None:
    import pyarrow.parquet

    for name in ("a.csv", "a.parquet", "a.jsonl"):
        assert run(
            "component:mlp", "--grid", "E=1,1000000000000", "--grid", "H=7,1000000000", "-o", str(tmp_path / name)
        )
    expected = [2 * e * h + e + h for e in (1, 10**12) for h in (7, 10**9)]
    assert expected[-1] > 2**63
    with (tmp_path / "a.csv").open(newline="") as file:
        assert [int(row["params"]) for row in csv.DictReader(file)] == expected
    assert [json.loads(line)["params"] for line in (tmp_path / "a.jsonl").read_text().splitlines()] == expected
    assert [int(row) for row in pyarrow.parquet.read_table(tmp_path / "a.parquet")["params"].to_pylist()] == expected
    b, s, n, e, v = 10**15, 10**12, 10**15, 10**12, 10**15
    # 24BLSE² alone: 24 * 10**15 * 10**15 * 10**12 * 10**24 has 68 digits, and 76 are supported
    sizes = {"B": b, "S": s, "P": s, "L": n, "A": 1, "V": v}
    given = [word for name, number in sizes.items() for word in ("--set", f"{name}={number}")]
    result = run("gpt2", "--grid", f"E={e}", "-q", "flops", *given, "-o", str(tmp_path / "b.parquet"))
    assert result.exit_code == 0, result.output
    (row,) = pyarrow.parquet.read_table(tmp_path / "b.parquet").to_pylist()
    assert int(row["flops"]) == 24 * b * s * n * e**2 + 4 * b * s**2 * n * e + 2 * b * s * v * e


def test_text_columns_are_copied_to_the_output(tmp_path: Path) -> None:
    """Names of configs, one with a comma and one in another script; a column of numbers is never a label."""
    (tmp_path / "in.csv").write_text(
        'name,E,L,note\n"small, old",768,12,\nmédium,1024,24,"a ""b"""\n', encoding="utf-8"
    )
    expected = [["small, old", "", 768, 12, 12, 124_439_808], ["médium", 'a "b"', 1024, 24, 16, 354_823_168]]
    found = listed("gpt2", "--from", str(tmp_path / "in.csv"))
    assert found["columns"] == ["name", "note", "E", "L", "A", "params"]
    assert found["rows"] == expected
    for name in ("out.csv", "out.jsonl", "out.parquet"):
        assert run("gpt2", "--from", str(tmp_path / "in.csv"), "-o", str(tmp_path / name)).exit_code == 0
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        read = [list(row.values()) for row in csv.DictReader(file)]
    assert read == [[str(each) for each in row] for row in expected]
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [list(json.loads(line).values()) for line in lines] == expected
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert [list(row.values()) for row in table.to_pylist()] == expected
    pyarrow.parquet.write_table(table.drop_columns(["params", "A"]), tmp_path / "again.parquet")
    assert listed("gpt2", "--from", str(tmp_path / "again.parquet"))["rows"] == expected
    assert 'médium      a "b"  1,024' in run("gpt2", "--from", str(tmp_path / "in.csv")).stdout
    few = listed("gpt2", "--from", str(tmp_path / "in.csv"), "--limit", "1", "--sort-by", "max:params")
    assert [row[0] for row in few["rows"]] == ["médium"]
    refused = run("gpt2", "--from", str(tmp_path / "in.csv"), "--limit", "1", "--sort-by", "name")
    assert "'name' is not a column; the numeric columns are E, L, A, params" in refused.stderr


def test_a_parquet_file_is_read(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    place = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"E": np.array([768, 1536], np.uint16), "L": [12, 24]}), place)
    assert listed("gpt2", "--from", str(place))["rows"][0] == [768, 12, 12, 124_439_808]
    pyarrow.parquet.write_table(pyarrow.table({"E": [768.0]}), place)
    assert "the column E has values of type double; sizes are whole numbers" in run("gpt2", "--from", str(place)).stderr
    pyarrow.parquet.write_table(pyarrow.table({"E": [768, None]}), place)
    assert "the column E has missing values" in run("gpt2", "--from", str(place)).stderr


def test_memory_does_not_grow_with_the_number_of_configs() -> None:
    """Ten million configs, whose values alone would be 80 MB, need as much memory as ten thousand."""
    code = """
import resource, sys
from symformer.algebra.sweep import sweep
found = sweep("gpt2", {"E": f"12:{12 * int(sys.argv[1])}:12", "V": "1:1000"}, limit=1, sort_by="max:params")
row = [int(column[0]) for column in found.table().values()]
print(row[0], row[-1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    used = []
    for count in (10, 10_000):
        asked = [sys.executable, "-c", code, str(count)]
        width, params, most = map(int, subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split())
        assert (width, params) == (12 * count, (12 * 12 * width + 13 * 12 + 1_000 + 1_024 + 2) * width)
        used.append(most)
    assert used[1] < used[0] + 30


def test_a_sweep_of_larger_numbers_has_fewer_rows() -> None:
    """Beyond 64 bits an operation takes about 50 times as long: 2EH alone is 2·10^20 at the end."""
    sf.sweep("component:mlp", {"E": "1:100000", "H": "1:100000"})
    with pytest.raises(SymformerError, match=r"10,000,000,000 rows, but this sweep can have at most [1-9][\d,]{7,12};"):
        sf.sweep("component:mlp", {"E": "9999900001:10000000000", "H": "9999900001:10000000000"})


def test_progress_is_reported_until_the_last_row() -> None:
    told: list[tuple[int, int]] = []
    found = sf.sweep("gpt2", {"L": "1:700", "V": "1:700"})
    replace(found, progress=lambda done, total: told.append((done, total))).table()
    assert len(told) > 2
    assert told[-1] == (490_000, 490_000)
    assert told == sorted(told)


def test_a_front_of_three_objectives_has_a_work_limit(monkeypatch: Any) -> None:
    """All 900 rows are on the front, and each is compared with about 900 others in 3 numbers; 4 rows take 10,000."""
    grid = {"E": "1:30", "H": "1:30"}
    assert len(rows_of(sf.sweep("component:mlp", grid, pareto=["max:E", "max:H", "params"]))) == 900
    monkeypatch.setattr(row_selection, "COMPARED", 10_000)
    with pytest.raises(SymformerError, match="a front of 3 objectives with more than 4 rows needs more than 10,000"):
        sf.sweep("component:mlp", grid, pareto=["max:E", "max:H", "params"]).table()


def test_a_notebook_shows_the_sweep() -> None:
    found = sweep("gpt2", {"E": "768,1536,770"}, sizes={"A": 12})
    html = found._repr_html_() or ""
    assert "<p>2 of 3 configs</p><p>skipped: 1 that violate the condition 'A divides E'</p>" in html
    assert "124,439,808" in html
    assert repr(found) == "<params of gpt2 over 3 configs>"
    assert "\\mathtt{params}" in (found._repr_latex_() or "")


def test_sweep_in_python() -> None:
    found = sf.sweep("gpt2", {"E": range(768, 1537, 768), "L": [12]}, ["params"], filters=["params > 200e6"])
    assert rows_of(found) == [(1536, 12, 12, (12 * 12 * 1536 + 13 * 12 + 50_257 + 1_024 + 2) * 1536)]
    assert found.to_json()["left_out"] == {"params > 200e6": 1}
    assert Fraction(found.rows.count) == 2


def test_a_convention_named_over_is_distinct_from_the_grid() -> None:
    """``pipeline-bubble`` has a convention of that name: (N_pp - 1)/(N_micro + N_pp - 1) of the step."""
    assert rows_of(sf.sweep("gpt2", grid={"L": [12]}))[0][-1] == 124_439_808
    found = sf.sweep("gpt2", {"N_micro": [8, 9]}, "pipeline-bubble", over="step", sizes={"N_pp": 4})
    assert rows_of(found) == [(8, Fraction(3, 11)), (9, Fraction(3, 12))]
    with pytest.raises(SymformerError, match="unknown convention 'over' of params"):
        sf.sweep("gpt2", {"L": [12]}, over="step")
    with pytest.raises(SymformerError, match="a sweep needs at least one size"):
        sf.sweep("gpt2")


def test_the_help_has_examples_that_run() -> None:
    text = run("--help").stdout
    assert "--grid" in text
    assert "symformer sweep llama-2-7b" in text
