"""Everything that a package needs to add architectures, components, quantities and rule sets.

A package registers its objects as entry points, in ``pyproject.toml``::

    [project.entry-points."symformer.architectures"]
    tiny = "acme.models:Tiny"

The object is then the target or the quantity ``acme-tiny``: the name of the package, a hyphen, and the name of the
entry point. The groups are ``symformer.architectures``, ``symformer.components``, ``symformer.quantities`` and
``symformer.rule_sets``. The sizes are in :mod:`symformer.symbols`.

Components
    ``Component`` is the base class; its ``forward`` is written in the methods of ``Operations`` on ``Tensor`` values.
    ``Cut`` divides sizes over ranks. ``AtMost``, ``Differs``, ``Divides``, ``Equals`` and ``Excludes`` are conditions.
Architectures
    ``Architecture`` is the base class, and ``Stacked``, ``Decoder``, ``LlamaLike``, ``GPTLike`` and ``EncoderDecoder``
    are bases that have most of a model already. ``Fields`` maps the fields of a ``config.json`` to sizes, ``usual`` has
    the usual fields, ``option`` declares an option, and ``WitnessSpec`` names the torch class to verify against.
Quantities
    ``Quantity`` is a table with a rule for every ``OperationKind``; ``RatioQuantity`` divides it by another one.
    ``quantity`` returns a built-in quantity to start from. A rule returns ``Term`` values for an ``Entry`` of the
    ledger; ``counts_nothing``, ``refuse``, ``rows`` and ``refuse_others`` complete a table.
Rule sets
    ``RuleSet`` is the way in which another tool or paper counts FLOPs.

Examples
--------
>>> from dataclasses import dataclass
>>> from symformer.extend import Component
>>> from symformer.symbols import E, H
>>> @dataclass(frozen=True, kw_only=True)
... class Twice(Component):
...     title, role, shapes = "Twice", "other", "x[B,S,E] -> y[B,S,E]"
...     def forward(self, ops, x):
...         return ops.linear("down", ops.linear("up", x, H, bias=False), E, bias=False)
>>> Twice().params
2*E*H

"""

from __future__ import annotations

from .architectures.base_architecture import (
    Architecture,
    BoolField,
    Choice,
    Field,
    Fields,
    FractionField,
    Function,
    Labels,
    Layers,
    MultipleField,
    Names,
    ProbabilityField,
    RepeatedLayers,
    SpelledLayers,
    Variants,
    WitnessSpec,
    option,
    rotating,
    usual,
)
from .architectures.bases.decoder import Decoder
from .architectures.bases.encoder_decoder import EncoderDecoder
from .architectures.bases.gpt_like import GPTLike
from .architectures.bases.llama_like import LlamaLike
from .architectures.bases.stacked import Stack, Stacked
from .components.base import Component
from .formulas.account import Measure, Term
from .language.sizes import AtMost, Differs, Divides, Equals, Excludes
from .ledger.facts import (
    ARRANGING,
    ATTENDING,
    CARRYING,
    COMPRESSING,
    MATCHING,
    MULTIPLYING,
    POINTWISE,
    ROUTING,
    STORING,
    WEIGHTLESS,
    Entry,
    Ledger,
    OperationKind,
    Tensor,
    Weight,
)
from .ledger.operations import Operations
from .ledger.placement import Cut
from .quantities import quantity
from .quantities.quantity import (
    Convention,
    Conventions,
    Quantity,
    counts_nothing,
    measured,
    refuse,
    refuse_observed,
    refuse_others,
    rows,
    stored,
)
from .quantities.ratio_quantity import RatioQuantity, RunAmount
from .quantities.rule_sets.common_rules import attention_rules, matrix, rule_by_role, weights
from .quantities.rule_sets.linear_roles import RoleTable
from .quantities.rule_sets.rule_set import RuleSet

__all__ = [
    "ARRANGING",
    "ATTENDING",
    "CARRYING",
    "COMPRESSING",
    "MATCHING",
    "MULTIPLYING",
    "POINTWISE",
    "ROUTING",
    "STORING",
    "WEIGHTLESS",
    "Architecture",
    "AtMost",
    "BoolField",
    "Choice",
    "Component",
    "Convention",
    "Conventions",
    "Cut",
    "Decoder",
    "Differs",
    "Divides",
    "EncoderDecoder",
    "Entry",
    "Equals",
    "Excludes",
    "Field",
    "Fields",
    "FractionField",
    "Function",
    "GPTLike",
    "Labels",
    "Layers",
    "Ledger",
    "LlamaLike",
    "Measure",
    "MultipleField",
    "Names",
    "OperationKind",
    "Operations",
    "ProbabilityField",
    "Quantity",
    "RatioQuantity",
    "RepeatedLayers",
    "RoleTable",
    "RuleSet",
    "RunAmount",
    "SpelledLayers",
    "Stack",
    "Stacked",
    "Tensor",
    "Term",
    "Variants",
    "Weight",
    "WitnessSpec",
    "attention_rules",
    "counts_nothing",
    "matrix",
    "measured",
    "option",
    "quantity",
    "refuse",
    "refuse_observed",
    "refuse_others",
    "rotating",
    "rows",
    "rule_by_role",
    "stored",
    "usual",
    "weights",
]
