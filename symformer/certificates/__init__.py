"""Certificates: the results of checks against torch, stored as data, so that documents can cite them without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..formulas.formula import Formula
from ..language.aliases import Alias
from ..language.errors import WitnessError
from ..language.frozen import Immutable
from ..models.model import Model
from ..quantities.quantity import COUNTED

RESTS = "rests"  # the key of ``depends_on`` in the stored files


@dataclass(frozen=True)
class Certificate(Immutable):
    """A formula, a torch class, and the random points at which all their rows were equal.

    ``bound`` limits the probability that a formula that differs from the class passes by chance. Both are polynomials
    of total degree at most ``degree`` in the sampled sizes. Two different ones agree at a random point of {1..N}^k with
    probability at most degree/N (Schwartz 1980, Zippel 1979), and the points are independent. Points with two equal
    sizes are drawn again, so degree/N is divided by a lower bound on the probability that all sizes differ. Depths are
    not sampled: the count is affine in the depths together, so a few settings of them determine it.

    Parameters
    ----------
    id
        The id of the formula, such as ``"gpt2.params"``.
    options, conventions
        The options of the model, and the conventions of the quantity.
    digest
        The digest of every row of the formula; the certificate holds for no other formula.
    witness, author, versions
        The torch class, who wrote it, and the versions of the libraries.
    compared
        What was compared at every point, and who counted.
    depths
        The depths at which all points were sampled, such as ``"L=2"``.
    points, degree, largest, bound, seed
        The random points at each depth, the degree, N, the probability of error, and the seed.
    presets
        Presets that were built at full size, with the total from both sides.
    depends_on
        The digest of the first variant's formula, if that certificate has the bound for the rows; else "".

    Examples
    --------
    >>> certificate = next(iter(certificates_of("gpt2")))
    >>> certificate.witness, certificate.bound < 1e-6
    ('transformers.GPT2LMHeadModel', True)

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
    depends_on: str = ""

    @property
    def distinct(self) -> float:
        """A lower bound on the probability that all sizes of a point differ, computed from the stored bound."""
        return min(1.0, self.degree / self.largest / float(self.bound ** (1 / self.points)))

    def to_json(self) -> dict[str, object]:
        """Return the certificate as it is stored.

        Returns
        -------
        dict
            The fields by name; ``depends_on`` has the key ``rests``.

        Examples
        --------
        >>> next(iter(certificates_of("gpt2"))).to_json()["id"]
        'gpt2.params'

        """
        facts = asdict(self)
        return {**{name: fact for name, fact in facts.items() if name != "depends_on"}, RESTS: self.depends_on}

    # Former names
    rests = Alias("depends_on")


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
    return tuple(map(_read, json.loads(place.read_text("utf-8"))))


def _read(facts: Mapping[str, Any]) -> Certificate:
    fields = {name: fact for name, fact in facts.items() if name != RESTS}
    return Certificate(**{**fields, "depths": tuple(facts["depths"]), "depends_on": facts.get(RESTS, "")})


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
        if (each.id, dict(each.options)) == (formula.id, model.component.changed_options)
    ]
    for each in sorted(ours, key=lambda each: dict(each.conventions) != dict(formula.conventions)):
        counted = model.formula(formula.measure.name, **each.conventions)
        if each.digest == counted.digest:
            return each
    return None
