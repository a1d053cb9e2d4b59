"""symformer: closed-form formulas of transformer architectures, derived, typeset, and verified against torch.

>>> import symformer as sf
>>> gpt2 = sf.architecture("gpt2")
>>> gpt2.params
12*L*E**2 + 13*L*E + V*E + P*E + 2*E
>>> gpt2.params.value()
124439808
>>> 2 * gpt2.params.diff("L")
24*E**2 + 26*E

Functions: ``model``, ``architecture``, ``component``, ``from_config``, ``trace`` give models; ``compare``, ``check``,
``explain``, ``optimum``, ``ratio``, ``sensitivity``, ``solve``, ``sweep``, ``table`` and ``verify`` answer questions
about them; ``architectures``, ``presets``, ``components``, ``quantities``, ``devices`` and ``options`` list what there
is. The sizes are SymPy symbols: ``from symformer.symbols import E, L``. Every error is a ``SymformerError``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .algebra.check import check
    from .algebra.compare import compare
    from .algebra.explain import explain
    from .algebra.fit import fit
    from .algebra.layouts import layouts
    from .algebra.quantity_ratio import over, ratio
    from .algebra.sensitivity import sensitivity
    from .algebra.solve import solve
    from .algebra.sweep import sweep
    from .architectures import architecture, from_config
    from .certificates import Certificate
    from .components import component
    from .components.base import Component
    from .documents.model_table import table
    from .formulas.formula import Formula
    from .language.errors import (
        AmbiguousRunError,
        ArithmeticTextError,
        CatalogueError,
        CheckpointError,
        ConfigError,
        DerivationError,
        DocumentError,
        FetchError,
        OptionError,
        OutputError,
        ReadingError,
        RegistrationError,
        RuleError,
        ShapeError,
        SiteError,
        SizeError,
        SymformerError,
        TargetError,
        UnknownNameError,
        UnreadError,
        WitnessError,
    )
    from .models.model import Model
    from .scaling.laws import scaling_law
    from .scaling.optimum import optimum
    from .targets.resolution import model
    from .views.listing import options, presets
    from .witness import trace, verify

__all__ = [
    "AmbiguousRunError",
    "ArithmeticTextError",
    "CatalogueError",
    "Certificate",
    "CheckpointError",
    "Component",
    "ConfigError",
    "DerivationError",
    "DocumentError",
    "FetchError",
    "Formula",
    "Model",
    "OptionError",
    "OutputError",
    "ReadingError",
    "RegistrationError",
    "RuleError",
    "ShapeError",
    "SiteError",
    "SizeError",
    "SymformerError",
    "TargetError",
    "UnknownNameError",
    "UnreadError",
    "WitnessError",
    "architecture",
    "architectures",
    "check",
    "compare",
    "component",
    "components",
    "devices",
    "explain",
    "fit",
    "from_config",
    "layouts",
    "model",
    "optimum",
    "options",
    "over",
    "presets",
    "quantities",
    "ratio",
    "scaling_law",
    "sensitivity",
    "solve",
    "sweep",
    "table",
    "trace",
    "verify",
]

__version__ = "0.2.0"

# The module of each public name, imported on first use to keep ``import symformer`` fast.
_HOMES = {
    "ArithmeticTextError": "language.errors",
    "CatalogueError": "language.errors",
    "CheckpointError": "language.errors",
    "Certificate": "certificates",
    "Component": "components.base",
    "ConfigError": "language.errors",
    "DerivationError": "language.errors",
    "DocumentError": "language.errors",
    "FetchError": "language.errors",
    "Formula": "formulas.formula",
    "Model": "models.model",
    "OptionError": "language.errors",
    "OutputError": "language.errors",
    "AmbiguousRunError": "language.errors",
    "ReadingError": "language.errors",
    "RegistrationError": "language.errors",
    "RuleError": "language.errors",
    "ShapeError": "language.errors",
    "SiteError": "language.errors",
    "SizeError": "language.errors",
    "SymformerError": "language.errors",
    "TargetError": "language.errors",
    "UnknownNameError": "language.errors",
    "UnreadError": "language.errors",
    "WitnessError": "language.errors",
    "architecture": "architectures",
    "architectures": "views.listing",
    "check": "algebra.check",
    "compare": "algebra.compare",
    "component": "components",
    "components": "views.listing",
    "devices": "views.listing",
    "explain": "algebra.explain",
    "from_config": "architectures",
    "model": "targets.resolution",
    "optimum": "scaling.optimum",
    "options": "views.listing",
    "over": "algebra.quantity_ratio",
    "presets": "views.listing",
    "quantities": "views.listing",
    "ratio": "algebra.quantity_ratio",
    "scaling_law": "scaling.laws",
    "sensitivity": "algebra.sensitivity",
    "fit": "algebra.fit",
    "layouts": "algebra.layouts",
    "solve": "algebra.solve",
    "sweep": "algebra.sweep",
    "table": "documents.model_table",
    "trace": "witness",
    "verify": "witness",
}
# These packages are also callable: ``symformer.architectures()`` lists the architectures.
_LISTS = ("architectures", "components", "devices", "quantities")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'symformer' has no attribute {name!r}")
    if name in _LISTS:
        return import_module(f".{name}", __name__)
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _List(ModuleType):
    """A package that can be called to list its members."""

    def __call__(self) -> Any:
        return getattr(import_module("symformer.views.listing"), self.__name__.rpartition(".")[2])()


class _Package(ModuleType):
    """The module ``symformer``, whose packages of architectures, components and quantities can be called."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _LISTS and type(value) is ModuleType:  # set by the import system
            value.__class__ = _List
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
