"""A formula over more configs than one machine has memory for, by Dask: many workers, each with a few chunks.

``python examples/dask_sweep.py`` counts the parameters of Llamas of many widths, depths and hidden widths, and says how
many of them have at most 7 billion, and the largest of these. Dask takes a compiled formula as it takes any function of
arrays: nothing is reckoned before ``compute``, and a scheduler of a cluster is reached by giving its address to Client.
"""

from __future__ import annotations

import argparse

import dask
import dask.array as da
from dask.distributed import Client, LocalCluster

import symformer as sf

LIMIT = 7 * 10**9


def main() -> None:
    """Sweep on a cluster of this machine's own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--widths", type=int, default=100, help="how many widths, 128 apart")
    parser.add_argument("--depths", type=int, default=100, help="how many depths, 1 apart")
    parser.add_argument("--hidden", type=int, default=1_000, help="how many hidden widths, 64 apart")
    asked = parser.parse_args()
    params = sf.model("llama-2-7b").params.compile()
    widths = (128 * da.arange(1, asked.widths + 1, chunks=25))[:, None, None]
    depths = da.arange(1, asked.depths + 1, chunks=100)[:, None]
    hidden = 64 * da.arange(1, asked.hidden + 1, chunks=1_000)
    with (
        LocalCluster(n_workers=asked.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        found = params(E=widths, L=depths, H=hidden)  # the largest is known here, and with it that 64 bits are enough
        fits = found <= LIMIT
        count, most, kind = *dask.compute(fits.sum(), da.where(fits, found, 0).max()), found.dtype
    print(f"{found.size:,} configs on {asked.workers} workers, in {kind}: {count:,} have at most {LIMIT:,} parameters,")  # noqa: T201
    print(f"the largest of them {most:,}")  # noqa: T201


if __name__ == "__main__":
    main()
