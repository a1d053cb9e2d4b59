"""Traffic of blockwise attention: the algorithms run on a simulated memory, and the refusals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import symformer as sf
from symformer.commands.cli import cli
from symformer.formulas.formula import Formula
from symformer.language.errors import RuleError
from symformer.language.sizes import evaluate
from symformer.language.symbols import symbol


class Memory:
    """Off-chip memory that counts the elements read and written."""

    def __init__(self) -> None:
        self.moved = 0

    def move(self, rows: int, width: int) -> None:
        self.moved += rows * width


def blocks(length: int, size: int) -> Iterator[int]:
    """Yield the rows of each block; the last block has the remainder."""
    for start in range(0, length, size):
        yield min(size, length - start)


def algorithm_1(queries: int, keys: int, width: int, values: int, at_a_time: int, memory: Memory) -> None:
    """Run algorithm 1 of Dao et al. 2022 for one head, with its loads and stores; B_r does not change any sum."""
    memory.move(queries, values)  # line 2: O in HBM
    memory.move(queries, 2)  # l and m
    for block in blocks(keys, at_a_time):  # line 5
        memory.move(block, width)  # line 6: K_j
        memory.move(block, values)  # V_j
        for rows in blocks(queries, 4):  # line 7
            memory.move(rows, width)  # line 8: Q_i
            memory.move(rows, values)  # O_i
            memory.move(rows, 2)  # l_i, m_i
            memory.move(rows, values)  # line 12: O_i
            memory.move(rows, 2)  # line 13: l_i, m_i


def algorithm_2(queries: int, keys: int, width: int, values: int, at_a_time: int, memory: Memory) -> None:
    """Run algorithm 1 of Dao 2023 for one head."""
    for rows in blocks(queries, at_a_time):  # line 3
        memory.move(rows, width)  # line 4: Q_i
        for block in blocks(keys, 5):  # line 6
            memory.move(block, width)  # line 7: K_j
            memory.move(block, values)  # V_j
        memory.move(rows, values)  # line 14: O_i
        memory.move(rows, 1)  # line 15: L_i


PLAYED = {"flash": (algorithm_1, "C_kv"), "flash2": (algorithm_2, "C_q")}
ROWS = ("scores", "softmax", "mix")


def core(formula: Formula, numbers: dict[str, int]) -> int:
    """Return the bytes that the core of attention moves in one layer, at 2 bytes per element."""
    rows = {row.path.rpartition(".")[2]: row for row in formula.rows}
    given = {symbol(name): number for name, number in numbers.items()}
    total = sum(
        evaluate(rows[name].each.xreplace(formula.display_relations), given, name) for name in ROWS if name in rows
    )
    assert total > 0
    return total // 2


@pytest.mark.parametrize("kernels", PLAYED)
@pytest.mark.parametrize(("length", "at_a_time"), [(12, 4), (13, 4), (7, 9), (31, 1)])
def test_traffic_matches_simulated_algorithms(kernels: str, length: int, at_a_time: int) -> None:
    """3 sequences and 6 query heads that share 2 key heads: each query head loads its own copy."""
    play, size = PLAYED[kernels]
    memory = Memory()
    for _ in range(3 * 6):
        play(length, length, 10, 10, at_a_time, memory)
    formula = sf.architecture("llama").formula("traffic", kernels=kernels)
    sizes = {"B": 3, "S": length, "A": 6, "G": 2, "D": 10, "E": 17, "L": 1, size: at_a_time}
    assert core(formula, sizes) == memory.moved


@pytest.mark.parametrize("kernels", PLAYED)
def test_one_new_token(kernels: str) -> None:
    """A single query sees the 13 cached keys and its own."""
    play, size = PLAYED[kernels]
    memory = Memory()
    for _ in range(3 * 6):
        play(1, 14, 10, 10, 4, memory)
    formula = sf.architecture("llama").formula("traffic", kernels=kernels, phase="decode")
    sizes = {"B": 3, "C": 13, "A": 6, "G": 2, "D": 10, "E": 17, "L": 1, size: 4}
    assert (
        core(formula, {name: number for name, number in sizes.items() if symbol(name) in formula.dependencies})
        == memory.moved
    )


@pytest.mark.parametrize("kernels", PLAYED)
def test_cross_attention_traffic_of_a_decoder(kernels: str) -> None:
    """BART's decoder has 9 tokens and attends to 23 encoder tokens; 4 heads of width 5."""
    play, size = PLAYED[kernels]
    memory = Memory()
    for _ in range(2 * 4):
        play(9, 23, 5, 5, 6, memory)
    crossed = sf.architecture("bart").formula("traffic", kernels=kernels)
    rows = [row for row in crossed.rows if "encoder_attn" in row.path and row.path.rpartition(".")[2] in ROWS]
    given = {symbol(name): number for name, number in {"B": 2, "S": 9, "S_enc": 23, "A": 4, "E": 20, size: 6}.items()}
    assert len(rows) == len(ROWS)
    assert (
        sum(evaluate(row.each.xreplace(crossed.display_relations), given, row.path) for row in rows) == 2 * memory.moved
    )


def test_traffic_limits_in_block_size() -> None:
    """Theorem 2 of Dao et al. 2022: N·d·N/C_kv accesses as C_kv grows; with all keys in one block, 1 of each."""
    llama = sf.architecture("llama").formula("traffic", kernels="flash")
    at = {"B": 1, "S": 64, "A": 1, "G": 1, "D": 8, "E": 9, "L": 1}
    one, all_ = core(llama, {**at, "C_kv": 64}), core(llama, {**at, "C_kv": 1})
    assert one == 8 * 64 * 6 + 6 * 64  # Q, K, V, O read; O written twice; the statistics read once and written twice
    assert all_ - one == 63 * (3 * 8 + 4) * 64


@pytest.mark.parametrize(
    ("target", "way", "said"),
    [
        ("bloom", {}, "blockwise kernels do not support operations on the scores; choose kernels=separate"),
        ("t5", {}, "blockwise kernels do not support operations on the scores"),
        ("llama", {"context": "on"}, "kernels=flash2? does not support context=on"),
        ("mixtral", {}, "which experts' weights are read depends on the routing"),
    ],
)
def test_unsupported_blockwise_options_are_refused(target: str, way: dict[str, str], said: str) -> None:
    for kernels in PLAYED:
        with pytest.raises(RuleError, match=said):
            sf.architecture(target).formula("traffic", kernels=kernels, **way)


def test_intensity_counts_masked_blocks_consistently() -> None:
    llama = sf.architecture("llama")
    with pytest.raises(RuleError, match="kernels=flash2 also reads masked blocks; choose attention=full to count them"):
        llama.formula("intensity", kernels="flash2", attention="causal")
    assert llama.formula("intensity", kernels="flash2").denominator.equals(llama.formula("traffic", kernels="flash2"))  # type: ignore[attr-defined]


def test_cli_prints_blockwise_traffic() -> None:
    sizes = [f"--set={each}" for each in ("B=2", "S=100", "C_q=64")]
    run = ["show", "llama-2-7b", "-q", "traffic", "--option", "kernels=flash2", *sizes]
    assert "ceil(S/C_q)" in CliRunner().invoke(cli, run).stdout
    shares = ["sweep", "llama-2-7b", "-q", "traffic", "--option", "kernels=flash2", "--grid", "C_q=32:128:32"]
    swept = CliRunner().invoke(cli, [*shares, "--set", "B=2", "--set", "S=100"]).stdout
    two_blocks = sf.architecture("llama-2-7b").formula("traffic", kernels="flash2").value(B=2, S=100, C_q=64)
    assert f"{two_blocks:,}" in swept or str(two_blocks) in swept
