"""Other products: convolutions with a stored matrix, and products of two computed tensors."""

from __future__ import annotations

from sympy import cancel

from ...catalogue.measured_model import Class
from ...ledger.facts import MATRICES, Entry, OperationKind, Tensor
from ..dataflow_roles import ConvolutionProduct, ExpertProduct
from .matrix_products import weights
from .observations import Observations, size_of

PRODUCTS = {3: ("mm", "addmm"), 4: ("bmm", "baddbmm")}  # by the number of sizes that they multiply


def convolution(sights: Observations, row: Class, role: ConvolutionProduct) -> Entry | None:
    """Return a convolution with a stored matrix."""
    path, (_, batch, *places) = row
    read = [(sight, shape) for sight, key in sights.found[row] for shape in sight.seen.read.get(key, ())]
    sizes = sorted(sights.all[-1].numbers, key=str)
    for stored in sights.weights.get(role.weight, []):
        out, into, *kernel = stored[1]
        slides = places[: len(kernel)]
        if tuple(places[len(kernel) :]) != stored[1]:
            continue
        over = [
            [n, *([n - kernel[0] + 1] if role.before else []), n * by, *sizes] if by else [*sizes, n * window]
            for n, by, window in zip(slides, role.stride, kernel, strict=True)
        ]
        tried = [[batch], [out if role.alone else into, *sizes], *over]
        shape = [size_of(((sight, each[axis]) for sight, each in read), some) for axis, some in enumerate(tried)]
        if any(each is None for each in shape):
            continue
        left, _ = sights.gradients(row)
        x = Tensor("x", tuple(cancel(each) for each in shape), grad=left)
        owner = role.weight.rpartition(".")[0]  # the enclosing module may run it
        home = owner if owner.count("*") == path.count("*") else path.rpartition(".")[0]
        held, shared = weights(sights, row, home, stored, role.bias, stored[1])
        return sights.entry(
            OperationKind.CONVOLUTION, home, (x,), (batch, out, *slides), held, causal=role.before, shared=shared
        )
    return None


def product(sights: Observations, row: Class) -> Entry | None:
    """Return any product of two tensors as observed, with its observed gradients."""
    path, (_, *sizes) = row
    if path.rpartition(".")[2].partition("-")[0] not in PRODUCTS.get(len(sizes), ()):
        return None
    *batch, rows, middle, columns = sizes
    left, right = sights.gradients(row)
    x, y = (*batch, rows, middle), (*batch, middle, columns)
    read = Tensor("x", x, grad=left), Tensor("y", y, grad=right)
    function = MATRICES if isinstance(sights.role(row), ExpertProduct) else ""
    return sights.entry(OperationKind.PRODUCT, path, read, (*batch, rows, columns), (), function=function)
