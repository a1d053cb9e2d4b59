"""Certificates: the results of checks against torch, stored as data, so that documents can cite them without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ..formulas.formula import Formula
from ..language.errors import WitnessError
from ..language.frozen import Immutable
from ..models.model import Model
from ..quantities.quantity import COUNTED


@dataclass(frozen=True)
class Certificate(Immutable):
    """A formula, a torch class, and the random points at which all their rows were equal.

    ``bound`` limits the probability that a formula that differs from the class passes by chance. Both are polynomials
    of total degree at most ``degree`` in the sampled sizes. Two different ones agree at a random point of {1..N}^k with
    probability at most degree/N (Schwartz 1980, Zippel 1979), and the points are independent. Depths are not sampled:
    the count is affine in each depth, so two values of each determine it.
    """

    id: str  # of the formula: "gpt2.params"
    options: Mapping[str, str]
    conventions: Mapping[str, str]
    digest: str  # of all rows of the formula; the certificate is valid for this digest only
    witness: str  # "transformers.GPT2LMHeadModel"
    author: str  # the author of the class
    versions: Mapping[str, str]
    compared: str  # the compared rows and totals, and the counter that torch used
    depths: tuple[str, ...]  # the depths at which all points were sampled: "L=2"
    points: int  # random points at each of the depths
    degree: int
    largest: int  # N
    bound: float
    seed: int
    presets: Mapping[str, int]  # presets built at full size, with the total of both sides
    # The digest of the first variant's formula if that has every row of this one, else "". The certificate of the first
    # variant then bounds the error of the rows. This class was compared at fewer points, with the bound above.
    rests: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the certificate as stored."""
        return asdict(self)


def write_certificates(architecture: str, certificates: Sequence[Certificate | None]) -> None:
    """Store the certificates of an architecture in the package. Raises WitnessError if a check failed."""
    if None in certificates:
        raise WitnessError(f"{architecture} is not exact, so none of its certificates is stored")
    place = Path(__file__).parent / f"{architecture}.json"
    facts = [certificate.to_json() for certificate in certificates if certificate]
    place.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    certificates_of.cache_clear()


@cache
def certificates_of(architecture: str) -> tuple[Certificate, ...]:
    """Return the stored certificates of an architecture."""
    place = Path(__file__).parent / f"{architecture}.json"
    if not place.is_file():
        return ()
    return tuple(
        Certificate(**{**facts, "depths": tuple(facts["depths"])}) for facts in json.loads(place.read_text("utf-8"))
    )


def certificate_for(model: Model, formula: Formula) -> Certificate | None:
    """Return the stored certificate of a formula under the conventions of torch's counters, or None.

    If there is no certificate for the formula's own conventions, the result has others; see
    ``certificate.conventions``.
    """
    if COUNTED in formula.conventions:  # by published rules, which torch's counters do not follow
        return None
    ours = [
        each
        for each in certificates_of(model.id)
        if (each.id, dict(each.options)) == (formula.id, model.component.chosen)
    ]
    for each in sorted(ours, key=lambda each: dict(each.conventions) != dict(formula.conventions)):
        counted = model.formula(formula.measure.name, **each.conventions)
        if each.digest == counted.digest:
            return each
    return None
