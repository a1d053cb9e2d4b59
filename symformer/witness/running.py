"""What torch says of a model at one point: the rows it stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from .measure import without_initialisation
from .tracing import Measure, Point, Rows

Build = Callable[[Point], nn.Module]


def stored(build: Build) -> Measure:
    """The measure of a build: the shape of every unique parameter, by its path."""

    def rows(point: Point) -> Rows:
        with torch.device("meta"), torch.no_grad(), without_initialisation():
            model = build(point)
            if hasattr(model, "tie_weights"):
                cast(Any, model).tie_weights()  # on meta, nothing has tied them yet
        return {name: tuple(map(int, each.shape)) for name, each in model.named_parameters(remove_duplicate=True)}

    return rows
