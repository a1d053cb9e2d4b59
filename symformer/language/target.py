"""What a word of the user's names: decided here, by how it is written, for every door alike."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

COMPONENT, HF = "component:", "hf:"
CONFIG = ".json"

_HUB = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+)(?:@(.+))?", re.ASCII)
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


class Kind(Enum):
    """What a target can be, in words."""

    NAME = "an architecture or a preset"  # which of the two is looked up, and not read
    COMPONENT = "a component"
    CONFIG = "a config.json"
    HF = "a model type of transformers"
    FACTORY = "a factory"
    HUB = "a model on the Hub"


@dataclass(frozen=True)
class Target:
    """A target with its kind: ``component:mlp`` is a component by the name of ``mlp``."""

    text: str
    kind: Kind
    name: str  # the text without what tells the kind
    revision: str = ""  # of a model on the Hub: a branch, a tag or a commit

    def __str__(self) -> str:
        return self.text

    @property
    def refusal(self) -> str:
        """Why nothing here opens it, and what works instead; for the kinds that a command does not take."""
        match self.kind:
            case Kind.FACTORY:
                return f"{self.text!r} is a factory, which symformer show reads, with a --set for each argument"
            case Kind.HF:
                return f"{self.text} is a model type of transformers, which is traced: symformer trace {self.text}"
            case Kind.COMPONENT:
                return f"{self.text} is composed here and has no torch code to read: symformer show {self.text}"
            case Kind.NAME:
                return (
                    f"trace reads torch code: write hf:{self.text} if {self.text} is a model type of transformers; "
                    f"what is composed here by that name: symformer show {self.text}"
                )
            case Kind.CONFIG | Kind.HUB:
                return f"{self.text} is {self.kind.value}, which symformer show reads"


def parse(text: str) -> Target:
    """What a target is, by its spelling; whether it is there is for whoever opens it.

    >>> parse("component:mlp").kind, parse("hf:gpt2").name, parse("torch.nn:Linear").kind.value
    (<Kind.COMPONENT: 'a component'>, 'gpt2', 'a factory')
    >>> parse("openai/gpt2@main")
    Target(text='openai/gpt2@main', kind=<Kind.HUB: 'a model on the Hub'>, name='openai/gpt2', revision='main')
    """
    for prefix, kind in ((COMPONENT, Kind.COMPONENT), (HF, Kind.HF)):
        if text.startswith(prefix):
            return Target(text, kind, text.removeprefix(prefix))
    if text == "-":
        return Target(text, Kind.CONFIG, "/dev/stdin")
    if (named := _HUB.fullmatch(text)) and not text.endswith(CONFIG) and not os.path.lexists(text):
        return Target(text, Kind.HUB, named[1], named[2] or "")
    if text in (os.curdir, os.pardir) or text.endswith(CONFIG) or any(separator in text for separator in _SEPARATORS):
        return Target(text, Kind.CONFIG, text)
    return Target(text, Kind.FACTORY if ":" in text else Kind.NAME, text)


def name_of(target: str) -> str:
    """A target's name without the folders of the machine it lies on; a config.json goes by the folder it lies in, and a
    model on the Hub by its id.

    >>> name_of("gpt2"), name_of("/home/ada/models/tiny/config.json"), name_of("./small.json")
    ('gpt2', 'tiny/config.json', 'small.json')
    >>> name_of("openai-community/gpt2"), name_of("../")
    ('openai-community/gpt2', 'config.json')
    """
    if parse(target).kind is not Kind.CONFIG:
        return target
    path = PurePath(target, *(["config.json"] if os.path.isdir(target) else []))
    beside = path.parent.name.strip(".") if path.name == "config.json" else ""
    return "/".join(filter(None, (beside, path.name)))
