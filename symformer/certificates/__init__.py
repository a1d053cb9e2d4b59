"""Certificates: what a check against torch showed, kept as data so that documents made without torch carry it."""

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
    """A formula, a torch class, and random points at which every row of both was the same.

    ``bound`` is the probability that a formula which differs from the class anywhere passes by luck: both are
    polynomials of total degree at most ``degree`` in the sizes drawn, which agree at one random point of {1..N}^k with
    probability at most degree/N (Schwartz 1980, Zippel 1979), and the points are independent. Depths are not drawn:
    the count is affine in each, so two values of each settle it.

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
        The depths at which all points were drawn, such as ``"L=2"``.
    points, degree, largest, bound, seed
        The random points at each depth, the degree, N, the probability of error, and the seed.
    presets
        Presets that were built at full size, with the total of both sides.
    rests
        The digest of the first variant's formula, if that certificate has the bound for the rows; else "".

    Examples
    --------
    >>> certificate = next(iter(certificates_of("gpt2")))
    >>> certificate.witness, certificate.bound < 1e-6
    ('transformers.GPT2LMHeadModel', True)

    """

    id: str  # the formula's: "gpt2.params"
    options: Mapping[str, str]
    conventions: Mapping[str, str]
    digest: str  # of every row of the formula: the certificate holds for no other
    witness: str  # "transformers.GPT2LMHeadModel"
    author: str  # who wrote the class
    versions: Mapping[str, str]
    compared: str  # what was compared at every point, and who counted
    depths: tuple[str, ...]  # the depths at which all points were drawn: "L=2"
    points: int  # random points at each of the depths
    degree: int
    largest: int  # N
    bound: float
    seed: int
    presets: Mapping[str, int]  # presets built at full size, with the total that both sides gave
    # The digest of the first variant's formula, where that has every row of this one: its certificate has the bound for
    # the rows, and this class was compared at fewer points, whose own bound is the one above. Else empty.
    rests: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the certificate as it is stored.

        Returns
        -------
        dict
            The fields by name.

        Examples
        --------
        >>> next(iter(certificates_of("gpt2"))).to_json()["id"]
        'gpt2.params'

        """
        return asdict(self)


def write_certificates(architecture: str, certificates: Sequence[Certificate | None]) -> None:
    """Keep the certificates of an architecture in the package. Raises WitnessError for a check that failed."""
    if None in certificates:
        raise WitnessError(f"{architecture} is not exact, so none of its certificates is kept")
    place = Path(__file__).parent / f"{architecture}.json"
    facts = [certificate.to_json() for certificate in certificates if certificate]
    place.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    certificates_of.cache_clear()


@cache
def certificates_of(architecture: str) -> tuple[Certificate, ...]:
    """The certificates kept for an architecture; none if nobody wrote any."""
    place = Path(__file__).parent / f"{architecture}.json"
    if not place.is_file():
        return ()
    return tuple(
        Certificate(**{**facts, "depths": tuple(facts["depths"])}) for facts in json.loads(place.read_text("utf-8"))
    )


def certificate_for(model: Model, formula: Formula) -> Certificate | None:
    """The stored certificate that fits a formula under the conventions torch counts by; None when there is none.

    It may be for other conventions than the formula's own, where none is for those: compare
    ``certificate.conventions``.
    """
    if COUNTED in formula.conventions:  # by the rules of others, which torch does not count by
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
