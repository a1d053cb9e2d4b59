"""What else is multiplied: a stored matrix at every place that it slides to, and two tensors that are both computed."""

from __future__ import annotations

from sympy import cancel

from ...ledger.facts import Entry, Kind, Tensor, Weight
from ..roles import Slid
from ..traced import Class
from .sights import Sights, in_symbols

PRODUCTS = {3: ("mm", "addmm"), 4: ("bmm", "baddbmm")}  # by how many sizes they multiply


def convolution(sights: Sights, row: Class, role: Slid) -> Entry | None:
    """A stored matrix at every place of what it reads."""
    path, (_, batch, *places) = row
    module, counts = path.rpartition(".")[0], sights.products.counts[row]
    read = in_symbols(
        (sight, shape) for sight, key in sights.found[row] for shape in sight.seen.read.get(key, ())
    )  # fmt: skip
    for stored in sights.weights.get(role.weight, []):
        out, into, *kernel = stored[1]
        slides, sizes = places[: len(kernel)], places[len(kernel) :]
        if sizes != [out, into, *kernel] or sights.stored.counts[stored] != counts or stored in sights.used:
            continue
        over = (slides[0] - kernel[0] + 1,) if role.before else read[2:] if read else tuple(slides)
        left, _ = sights.gradients(row)
        x = Tensor("x", (batch, out if role.alone else into, *(cancel(each) for each in over)), grad=left)
        biases = [each for each in sights.weights.get(role.bias, []) if each[1] == (out,)]
        mine = [each for each in biases if each[0].rpartition(".")[0] == role.weight.rpartition(".")[0]]
        shared = tuple(Weight(*each) for each in biases if each not in mine)
        owner = role.weight.rpartition(".")[0] or module
        return sights.entry(
            Kind.CONVOLUTION, owner, (x,), (batch, out, *slides), (stored, *mine), causal=role.before, shared=shared
        )
    return None


def product(sights: Sights, row: Class) -> Entry | None:
    """Any product of two tensors, as it was seen, and with the gradients that were seen."""
    path, (_, *sizes) = row
    if path.rpartition(".")[2].partition("-")[0] not in PRODUCTS.get(len(sizes), ()):
        return None
    *batch, rows, middle, columns = sizes
    left, right = sights.gradients(row)
    x, y = (*batch, rows, middle), (*batch, middle, columns)
    read = Tensor("x", x, grad=left), Tensor("y", y, grad=right)
    return sights.entry(Kind.PRODUCT, path, read, (*batch, rows, columns), ())
