"""The files of all models, made by several processes in a bounded amount of memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context

from ..language.errors import SymformerError
from .atlas_page import ModelFiles, model_files
from .atlas_target import AtlasTarget
from .site_file import SiteOptions

CHUNK = 4  # models of a piece of work, so that the results that wait are few
RENEWED = 40  # pieces of work after which a process is replaced: sympy caches its results
FEW = 12  # models for which a pool takes longer to start than it saves


def all_model_files(targets: Sequence[AtlasTarget], options: SiteOptions) -> Iterator[ModelFiles]:
    """Yield the files of each model, in order.

    Raises
    ------
    SymformerError
        If a model has no formula; the message names it.

    """
    workers = min(_processors(), -(-len(targets) // CHUNK))
    work = pieces_of_work(targets, options)
    if workers < 2 or len(targets) <= FEW:
        yield from map(_made, work)
        return
    # A fresh process imports the package again, which is the same on every platform and safe with threads.
    with get_context("spawn").Pool(workers, maxtasksperchild=RENEWED) as pool:
        yield from pool.imap(_made, work, chunksize=CHUNK)


def pieces_of_work(targets: Sequence[AtlasTarget], options: SiteOptions) -> list[tuple[AtlasTarget, SiteOptions]]:
    """Return what a process needs for each model. No page of a model needs the commands, which cannot be pickled."""
    return [(target, replace(options, commands={})) for target in targets]


def _processors() -> int:
    """Return the number of processors that this process may use."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _made(work: tuple[AtlasTarget, SiteOptions]) -> ModelFiles:
    target, options = work
    try:
        return model_files(target, options)
    except SymformerError as error:
        raise SymformerError(f"the page of {target.name} cannot be made: {error}") from None
