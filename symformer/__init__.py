"""symformer: closed-form formulas of transformer architectures, derived, typeset, and verified against torch.

>>> import symformer as sf
>>> gpt2 = sf.architecture("gpt2")
>>> gpt2.params
12*L*E**2 + 13*L*E + V*E + P*E + 2*E
>>> gpt2.params.value()
124439808
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .algebra.check import check
    from .algebra.compare import compare
    from .algebra.explain import explain
    from .algebra.quantity_ratio import over
    from .algebra.sensitivity import sensitivity
    from .algebra.solve import solve
    from .algebra.sweep import sweep
    from .architectures import architecture, from_config
    from .certificates import Certificate
    from .components import component
    from .components.base import Component
    from .formulas.formula import Formula
    from .language.errors import SymformerError
    from .models.model import Model
    from .targets.resolution import model
    from .witness import trace, verify

__all__ = [
    "Certificate",
    "Component",
    "Formula",
    "Model",
    "SymformerError",
    "architecture",
    "check",
    "compare",
    "component",
    "explain",
    "from_config",
    "model",
    "over",
    "sensitivity",
    "solve",
    "sweep",
    "trace",
    "verify",
]

__version__ = "0.1.0"

# The module of each public name, imported on first use to keep ``import symformer`` fast.
_HOMES = {
    "Certificate": "certificates",
    "Component": "components.base",
    "Formula": "formulas.formula",
    "Model": "models.model",
    "SymformerError": "language.errors",
    "architecture": "architectures",
    "check": "algebra.check",
    "compare": "algebra.compare",
    "component": "components",
    "explain": "algebra.explain",
    "from_config": "architectures",
    "model": "targets.resolution",
    "over": "algebra.quantity_ratio",
    "sensitivity": "algebra.sensitivity",
    "solve": "algebra.solve",
    "sweep": "algebra.sweep",
    "trace": "witness",
    "verify": "witness",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'symformer' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
