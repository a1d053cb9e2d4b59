"""Evaluate a formula with Dask at more configs than fit into the memory of one machine.

``python examples/dask_sweep.py`` computes the parameters of Llama models of many widths, depths and hidden widths. It
prints how many of them have at most 7 billion parameters, and the largest of these. Dask accepts a compiled formula
like any function of arrays: nothing is computed before ``compute``. To use a cluster, pass the address of its
scheduler to ``Client``.
"""

from __future__ import annotations

import argparse

import dask
import dask.array as da
from dask.distributed import Client, LocalCluster

import symformer as sf

LIMIT = 7 * 10**9


def main() -> None:
    """Run the sweep on a local cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--widths", type=int, default=100, help="number of widths, in steps of 128")
    parser.add_argument("--depths", type=int, default=100, help="number of depths, in steps of 1")
    parser.add_argument("--hidden", type=int, default=1_000, help="number of hidden widths, in steps of 64")
    asked = parser.parse_args()
    params = sf.model("llama-2-7b").params.compile()
    widths = (128 * da.arange(1, asked.widths + 1, chunks=25))[:, None, None]
    depths = da.arange(1, asked.depths + 1, chunks=100)[:, None]
    hidden = 64 * da.arange(1, asked.hidden + 1, chunks=1_000)
    with (
        LocalCluster(n_workers=asked.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        found = params(E=widths, L=depths, H=hidden)  # the largest sizes are known, so 64 bits are known to suffice
        fits = found <= LIMIT
        count, most, kind = *dask.compute(fits.sum(), da.where(fits, found, 0).max()), found.dtype
    print(f"{found.size:,} configs on {asked.workers} workers, in {kind}: {count:,} have at most {LIMIT:,} parameters,")  # noqa: T201
    print(f"the largest of them {most:,}")  # noqa: T201


if __name__ == "__main__":
    main()
