"""Which class of transformers is traced: the one that a config names, or the one that its type has for a head."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, cast

import torch
from torch import nn

from ..configs.known import adds_weights, spelling
from ..language.errors import ConfigError, UnknownNameError, WitnessError, quoted
from .raised import sentence
from .results import UnbuiltError
from .session import Session, silence
from .watching import Rows

HEADS = {
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING",
    "masked": "MODEL_FOR_MASKED_LM_MAPPING",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "image": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "image-text": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING",
    "base": "MODEL_MAPPING",
}
OTHERS = re.compile("pixel_values.*|images|(audio_)?input_(features|values|speech)|(audio|speech)_values")
FIRST = ("causal", "seq2seq", "masked", "image", "image-text", "base")  # of those that a type has
GENERATING = ("ForCausalLM", "ForConditionalGeneration")
LABELS = "num_labels"
_LABELLING = ("transformers.models.", "transformers.modeling_layers")  # and not what all classes inherit
# What a class returns and how it runs: no switch of these is about weights.
_RUN = ("use_cache", "output_", "return_dict", "use_return_dict", "torchscript", "gradient_checkpointing")


TIED, HEAD_TABLE = "tie_word_embeddings", "lm_head.weight"


def forces_tied(model_class: Any, config: Any) -> bool:
    """Return whether a class always ties the head to the token embedding, whatever the config file states.

    T5 and its relatives do so for every new model, but ``from_pretrained`` keeps both tables of a checkpoint with two.
    """
    tied = getattr(config, TIED, False) is True and config.get_text_config() is config
    return tied and HEAD_TABLE in (model_class._tied_weights_keys or {})


@cache
def _untied(model_class: Any) -> Any:
    """Return the class with an untied head, as ``from_pretrained`` loads a checkpoint that has one."""
    keys = {name: table for name, table in model_class._tied_weights_keys.items() if name != HEAD_TABLE}
    return type(
        model_class.__name__, (model_class,), {"_tied_weights_keys": keys, "__module__": model_class.__module__}
    )


@dataclass(frozen=True)
class Source:
    """A class of transformers, the class of its configs, and which head's models it is run as."""

    model_type: str
    config_class: Any
    model_class: Any
    run_as: str
    part: str = ""  # of a config that holds several, the one that the class is made from

    @property
    def name(self) -> str:
        """The name of the class."""
        return str(self.model_class.__name__)

    def config(self, fields: Mapping[str, Any]) -> Any:
        """The config with these fields, made in silence; of a copy, as a class may write into what it is given."""
        with silence():
            made = self.config_class(**deepcopy(dict(fields)))
        if self.labelled and LABELS not in vars(made):  # a property, which is kept as the list of labels
            vars(made)[LABELS] = made.num_labels
        return made

    def read(self, fields: Mapping[str, Any]) -> Any:
        """The config with the fields of a file. Raises WitnessError where its class refuses them."""
        try:
            return self.config(fields)
        except Exception as error:  # whatever somebody's config raises
            raise WitnessError(f"the config of {self.model_type} cannot be made: {sentence(error)}") from None

    @property
    def labelled(self) -> bool:
        """Whether the class asks its config how many labels it tells apart."""
        return _asks_for_labels(self.model_class)

    def build(self, fields: Mapping[str, Any]) -> nn.Module:
        """Build the model of a config with these fields, with an untied head if they require one."""
        config = self.config(fields)
        untied = fields.get(TIED) is False and forces_tied(self.model_class, config)
        return cast(nn.Module, (_untied(self.model_class) if untied else self.model_class)(config))

    def own(self, fields: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Of the fields of a config those that the class is made from. Raises ConfigError."""
        found = fields.get(self.part) if self.part else fields
        if not isinstance(found, Mapping):
            said = "gives none" if found is None else f"has {self.part}={str(found)[:80]}"
            raise ConfigError(f"{path} is read as {self.name}, which is made from its {self.part}, and {said}")
        if (added := self._added(self.config_class, found)) is not None:
            raise ConfigError(
                f"{path} has {quoted(added)[1:-1]}={str(found[added])[:80]}, which {self.name} does not read; the name "
                "suggests that the checkpoint has additional weights; remove the field if it adds none"
            )
        return dict(found)

    def _added(self, config_class: Any, fields: Mapping[str, Any]) -> str | None:
        """Return the first field which shows that the checkpoint has more weights than the class, or None.

        A class reads the fields of its config class and those named in its own code.
        """
        own = {*dir(config_class), *inspect.signature(config_class.__init__).parameters, *config_class.attribute_map}
        for name, value in fields.items():
            if name not in own and adds_weights(name, value, own):
                code = inspect.getsource(inspect.getmodule(self.model_class) or self.model_class)
                if not re.search(rf"\b{re.escape(name)}\b", code):
                    return name
            part = config_class.sub_configs.get(name)
            whole = part is not None and hasattr(part, "sub_configs") and isinstance(value, Mapping)
            if whole and self._added(part, cast(Mapping[str, Any], value)) is not None:
                return name
        return None

    def reads(self) -> str:
        """What a run gives it: input_ids, or the first that its forward has instead."""
        takes = [name for name in inspect.signature(self.model_class.forward).parameters if name != "self"]
        main = str(self.model_class.main_input_name)
        other = next((name for name in takes if OTHERS.fullmatch(name)), main)  # main is input_ids where nobody said
        return "input_ids" if "input_ids" in takes else main if main in takes else other

    def places(self) -> bool:
        """Whether pictures take the places of tokens; a class that compares texts with them has a vector of each."""
        image, text = (hasattr(self.model_class, f"get_{what}_features") for what in ("image", "text"))
        return image and not text

    def unread(self) -> tuple[str, ...]:
        """What it may read beside what a run gives it: pictures and sound, of which a run knows no sizes."""
        takes = [name for name in inspect.signature(self.model_class.forward).parameters if OTHERS.fullmatch(name)]
        return tuple(name for name in takes if name != self.reads())


@cache
def _asks_for_labels(model_class: Any) -> bool:
    own = (each for each in model_class.__mro__ if each.__module__.startswith(_LABELLING))
    return any(LABELS in inspect.getsource(each) for each in own)


def types(head: str) -> list[str]:
    """The model types that transformers has with a head. Raises UnknownNameError."""
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    return list(getattr(_auto("modeling"), HEADS[head] + "_NAMES"))


def first_heads() -> list[tuple[str, str]]:
    """Every model type that transformers has a model of, with the first head that it has."""
    found: dict[str, str] = {}
    for head in FIRST:
        for model_type in types(head):
            found.setdefault(model_type, head)
    return [*found.items()]


def config_class(model_type: str) -> Any:
    """The class of a type's configs. Raises WitnessError."""
    known = _auto("configuration").CONFIG_MAPPING_NAMES
    if model_type not in known:
        near = get_close_matches(model_type[:100].lower(), known, n=3)
        raise WitnessError(
            f"unknown model type {quoted(model_type)} in this transformers; "
            + (f"did you mean {' or '.join(near)}?" if near else "a model type is such as gpt2 or qwen3_moe")
        )
    return _auto("configuration").CONFIG_MAPPING[model_type]


def known(model_type: str) -> bool:
    """Whether transformers has a model type of that name."""
    return model_type in _auto("configuration").CONFIG_MAPPING_NAMES


def near_type(name: str) -> str:
    """The model type that a name is, or nearly is; "" for none."""
    known = _auto("configuration").CONFIG_MAPPING_NAMES
    return next(iter(get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.8)), "")


def of_head(model_type: str, head: str = "") -> Source:
    """The class that a type has for a head, or for the first that it has. Raises WitnessError and UnknownNameError."""
    made_by = config_class(model_type)
    offered = [name for name in FIRST if model_type in types(name)]
    head = head or (offered[0] if offered else "base")
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    if head not in offered:
        if not offered and (classes := made_from(model_type)):
            raise WitnessError(
                f"transformers has no class that it takes by default for {model_type}; name one in 'architectures' of "
                f"a config.json, such as {classes[0]}"
            )
        raise WitnessError(f"{model_type} has no {head} model in transformers; it has {', '.join(offered) or 'none'}")
    try:
        found = getattr(_auto("modeling"), HEADS[head])[made_by]
    except Exception as error:  # whatever a library that is not installed raises
        raise UnbuiltError(f"{model_type} has no {head} model that can be imported: {sentence(error)}") from None
    made = found[0] if isinstance(found, tuple) else found
    # Of those that transformers files under sequence to sequence some have no decoder of their own tokens; others have.
    run_as = _run_as(made, model_type) if head == "seq2seq" or _decodes(made) else head
    return _of_part(Source(model_type, made_by, made, run_as))


def of_config(config: Mapping[str, Any], path: str, head: str = "") -> Source:
    """The class that a config.json names in ``architectures``; without one, the class that its type has for a head.

    Raises ConfigError, WitnessError and UnknownNameError.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ConfigError(f"{path} names no 'model_type', such as \"gpt2\"")
    named = config.get("architectures")
    if named is None:
        return of_head(model_type, head)
    if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
        raise ConfigError(f"{path} has architectures={str(named)[:80]}; what is traced is one class, by its name")
    found = _class(_named(named[0], model_type), path, model_type)
    if not known(model_type):
        return Source(
            found.config_class.model_type, found.config_class, found, _run_as(found, found.config_class.model_type)
        )
    made_by = config_class(model_type)
    source = _of_part(Source(model_type, made_by, found, _run_as(found, model_type)))
    if not issubclass(source.config_class, found.config_class) and not _filed(made_by, found):
        raise ConfigError(
            f"{path} names {named[0]}, which is made from a {found.config_class.__name__}, and the model_type "
            f"{model_type!r}, which is a {made_by.__name__}"
        )
    if head and (asked := of_head(model_type, head)).model_class is not found:
        raise ConfigError(f"{path} names {source.name}, and the {head} model of {model_type} is {asked.name}")
    return source


def _named(name: str, model_type: str) -> str:
    """Return the name of a class in the library's spelling, if a config spells it with other case."""
    if name in _exported() or not known(model_type):
        return name
    offered = (getattr(_auto("modeling"), mapping + "_NAMES").get(model_type) for mapping in HEADS.values())
    classes = (each for filed in offered for each in ((filed,) if isinstance(filed, str) else filed or ()))
    return next((each for each in classes if spelling(each) == spelling(name)), name)


def _exported() -> set[str]:
    """Return the names that transformers exports. ``dir(transformers)`` returns the same, but takes 0.2 seconds."""
    import transformers

    return {*transformers.__all__, *vars(transformers)}  # type: ignore[attr-defined]


def _filed(made_by: Any, model_class: Any) -> bool:
    """Whether the library files a class under a config that it was not written for."""
    mappings = (getattr(_auto("modeling"), mapping) for mapping in HEADS.values())
    return any(made_by in each and model_class in (filed := each[made_by], *_several(filed)) for each in mappings)


def _several(filed: Any) -> tuple[Any, ...]:
    return filed if isinstance(filed, tuple) else ()


def _of_part(source: Source) -> Source:
    """A class made from a part of its type's config, as the text of text and images, with that part's config."""
    wanted, holds = source.model_class.config_class, source.config_class
    if wanted is None or issubclass(holds, wanted):
        return source
    part = next((name for name, each in holds.sub_configs.items() if each is wanted), "")
    return replace(source, config_class=wanted, part=part) if part else source


def made_from(model_type: str) -> list[str]:
    """The names of the models that are made from the config of a type, the most common kind of model first."""
    import transformers

    made_by, exported = config_class(model_type), _exported()
    try:
        module = importlib.import_module(made_by.__module__.replace(".configuration_", ".modeling_"))
    except ImportError:
        return []
    found = [
        name
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, transformers.PreTrainedModel) and each.config_class is made_by
        if name in exported and "PreTrained" not in name
    ]
    return sorted(found, key=lambda name: (not name.endswith(GENERATING), name))


def _class(name: str, path: str, model_type: str) -> Any:
    import transformers

    try:
        found: Any = getattr(transformers, name) if name.isidentifier() else None
    except Exception:  # no such name, or a library of its own that is not installed
        found = None
    model = isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)
    if not model or not found.__module__.startswith("transformers.") or found.config_class is None:
        others = made_from(model_type) if known(model_type) else []
        offered = f"; of this model type it has {', '.join(others[:3])}" if others else ""
        raise ConfigError(f"{path} names the class {name[:80]!r}, and transformers has no model of that name{offered}")
    return found


def _decodes(found: Any) -> bool:
    """Whether a class reads tokens for its decoder beside what its encoder reads."""
    return "decoder_input_ids" in inspect.signature(found.forward).parameters


def _run_as(found: Any, model_type: str) -> str:
    """The head whose models a class is run as: its own, or one of its type that reads the same."""
    if _decodes(found):
        return "seq2seq"
    offered = [name for name in FIRST if model_type in types(name) and name != "seq2seq"]
    for head in offered:
        if of_head(model_type, head).model_class is found:
            return head
    return next((head for head in ("masked", "causal") if head in offered), "base")


def assumed(config: Mapping[str, Any], source: Source) -> tuple[str, ...]:
    """What a config does not say of the class that it was read with."""
    model_type = config["model_type"]
    found = [f"model_type {model_type!r} is not known here, and the class {source.name} decides"] * (
        not known(model_type)
    )
    if config.get(TIED) is False and forces_tied(source.model_class, source.read(config)):
        found.append(
            f"{TIED}=false: the head has its own table, as in the checkpoint; a newly built model would share it"
        )
    said = f"no 'architectures': read as {source.name}" + (f", made from {source.part}" if source.part else "")
    return (*found, *[said] * (config.get("architectures") is None))


def ignored(source: Source, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The switches that a config states and that change nothing that the class stores, tied weights first.

    Each is found by building the class once more with that switch turned.
    """
    before = _rows(source, fields)
    switches = sorted(_switches(fields), key=lambda each: not each[0].endswith("tie_word_embeddings"))
    found = []
    for name, value in switches if before else ():
        turned = {**fields}
        into, _, last = name.rpartition(".")
        if into:
            turned[into] = {**fields[into], last: not value}
        else:
            turned[last] = not value
        if _rows(source, turned) == before:
            found.append(f"{name}={str(value).lower()}")
    return tuple(found)


def _switches(fields: Mapping[str, Any], into: str = "") -> Iterator[tuple[str, bool]]:
    for name, value in fields.items():
        if isinstance(value, bool) and not name.startswith(_RUN):
            yield into + name, value
        elif isinstance(value, dict) and not into and name.endswith("config"):
            yield from _switches(value, f"{name}.")


def _rows(source: Source, fields: Mapping[str, Any]) -> Rows | None:
    """What the class stores for these fields; None where it refuses them."""
    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            return Session(lambda: source.build(fields)).stored()
    except Exception:  # whatever somebody's code raises, it does not ignore the switch
        return None


def _auto(kind: str) -> Any:
    return importlib.import_module(f"transformers.models.auto.{kind}_auto")
