"""The class of transformers to trace: the one that a config names, or a model type's class for a head."""

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

from ..configs.common_fields import adds_weights, spelling
from ..language.errors import ConfigError, UnknownNameError, WitnessError, alternatives, quoted
from .dispatch_recorders import Rows
from .error_messages import sentence
from .torch_session import Session, silence
from .trace_result import UnbuiltError

HEADS = {
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING",
    "masked": "MODEL_FOR_MASKED_LM_MAPPING",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "image": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    "image-text": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING",
    "base": "MODEL_MAPPING",
}
OTHERS = re.compile("pixel_values.*|images|(audio_)?input_(features|values|speech)|(audio|speech)_values")
FIRST = ("causal", "seq2seq", "masked", "image", "image-text", "base")  # order of preference
GENERATING = ("ForCausalLM", "ForConditionalGeneration")
LABELS = "num_labels"
_LABELLING = ("transformers.models.", "transformers.modeling_layers")  # not the base classes of all models
# Switches for the return value and for running: none affects weights.
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
class TracedClass:
    """A class of transformers, its config class, and the head that determines how it is called."""

    model_type: str
    config_class: Any
    model_class: Any
    run_as: str
    part: str = ""  # the field that holds this class's config, if the config has several parts

    @property
    def name(self) -> str:
        """Return the name of the class."""
        return str(self.model_class.__name__)

    def config(self, fields: Mapping[str, Any]) -> Any:
        """Return the config with these fields, built without output from a copy: a class may modify its arguments."""
        with silence():
            made = self.config_class(**deepcopy(dict(fields)))
        if self.labelled and LABELS not in vars(made):  # num_labels is a property, stored as the list of labels
            vars(made)[LABELS] = made.num_labels
        return made

    def read(self, fields: Mapping[str, Any]) -> Any:
        """Return the config with the fields of a file. Raises WitnessError if the config class rejects them."""
        try:
            return self.config(fields)
        except Exception as error:  # any error of the config class
            raise WitnessError(f"cannot create the config of {self.model_type}: {sentence(error)}") from None

    @property
    def labelled(self) -> bool:
        """Whether the class reads the number of labels from its config."""
        return _asks_for_labels(self.model_class)

    def build(self, fields: Mapping[str, Any]) -> nn.Module:
        """Build the model of a config with these fields, with an untied head if they require one."""
        config = self.config(fields)
        untied = fields.get(TIED) is False and forces_tied(self.model_class, config)
        return cast(nn.Module, (_untied(self.model_class) if untied else self.model_class)(config))

    def own(self, fields: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return the fields of a config that the class is built from. Raises ConfigError."""
        found = fields.get(self.part) if self.part else fields
        if not isinstance(found, Mapping):
            said = "the config has none" if found is None else f"the config has {self.part}={str(found)[:80]}"
            raise ConfigError(f"{path} is read as {self.name}, which is built from {self.part}, but {said}")
        if (added := self._added(self.config_class, found)) is not None:
            raise ConfigError(
                f"{path} has {quoted(added)[1:-1]}={str(found[added])[:80]}, which {self.name} does not read; the name "
                "suggests that the checkpoint has additional weights; remove the field if it adds none"
            )
        return dict(found)

    def _added(self, config_class: Any, fields: Mapping[str, Any]) -> str | None:
        """Return the first field that implies more weights in the checkpoint than in the class, or None.

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
        """Return the main input of a run: input_ids, or else the first other input of ``forward``."""
        takes = [name for name in inspect.signature(self.model_class.forward).parameters if name != "self"]
        main = str(self.model_class.main_input_name)
        other = next(
            (name for name in takes if OTHERS.fullmatch(name)), main
        )  # main is input_ids unless a class sets it
        return "input_ids" if "input_ids" in takes else main if main in takes else other

    def places(self) -> bool:
        """Return True if images take the places of tokens, and False for a class that compares texts with images."""
        image, text = (hasattr(self.model_class, f"get_{what}_features") for what in ("image", "text"))
        return image and not text

    def unread(self) -> tuple[str, ...]:
        """Return the inputs that a run does not provide: images and sound, whose sizes a run does not know."""
        takes = [name for name in inspect.signature(self.model_class.forward).parameters if OTHERS.fullmatch(name)]
        return tuple(name for name in takes if name != self.reads())


@cache
def _asks_for_labels(model_class: Any) -> bool:
    own = (each for each in model_class.__mro__ if each.__module__.startswith(_LABELLING))
    return any(LABELS in inspect.getsource(each) for each in own)


def types(head: str) -> list[str]:
    """Return the model types of transformers with this head. Raises UnknownNameError."""
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    return list(getattr(_auto("modeling"), HEADS[head] + "_NAMES"))


def first_heads() -> list[tuple[str, str]]:
    """Return every model type of transformers that has a model, with its preferred head."""
    found: dict[str, str] = {}
    for head in FIRST:
        for model_type in types(head):
            found.setdefault(model_type, head)
    return [*found.items()]


def config_class(model_type: str) -> Any:
    """Return the config class of a model type. Raises WitnessError."""
    known = _auto("configuration").CONFIG_MAPPING_NAMES
    if model_type not in known:
        near = get_close_matches(model_type[:100].lower(), known, n=3)
        raise WitnessError(
            f"the installed transformers has no model type {quoted(model_type)}; "
            + (f"did you mean {alternatives(near)}?" if near else "examples of a model type: gpt2, qwen3_moe")
        )
    return _auto("configuration").CONFIG_MAPPING[model_type]


def is_model_type(model_type: str) -> bool:
    """Return True if transformers has a model type with this name."""
    return model_type in _auto("configuration").CONFIG_MAPPING_NAMES


def near_type(name: str) -> str:
    """Return the model type with this or nearly this name, or "" if there is none."""
    known = _auto("configuration").CONFIG_MAPPING_NAMES
    return next(iter(get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.8)), "")


def of_head(model_type: str, head: str = "") -> TracedClass:
    """Return a model type's class for a head, by default its preferred head. Raises WitnessError, UnknownNameError."""
    made_by = config_class(model_type)
    offered = [name for name in FIRST if model_type in types(name)]
    head = head or (offered[0] if offered else "base")
    if head not in HEADS:
        raise UnknownNameError("head", head, HEADS)
    if head not in offered:
        if not offered and (classes := models_of_type(model_type)):
            raise WitnessError(
                f"transformers has no default class for {model_type}; name one in 'architectures' of a config.json, "
                f"such as {classes[0]}"
            )
        raise WitnessError(f"{model_type} has no {head} model in transformers; it has {', '.join(offered) or 'none'}")
    try:
        found = getattr(_auto("modeling"), HEADS[head])[made_by]
    except Exception as error:  # for example, an optional library is not installed
        raise UnbuiltError(f"cannot import the {head} model of {model_type}: {sentence(error)}") from None
    made = found[0] if isinstance(found, tuple) else found
    # Some classes that transformers lists as sequence-to-sequence have a decoder with its own tokens, and some do not.
    run_as = _run_as(made, model_type) if head == "seq2seq" or _decodes(made) else head
    return _of_part(TracedClass(model_type, made_by, made, run_as))


def of_config(config: Mapping[str, Any], path: str, head: str = "") -> TracedClass:
    """Return the class that a config names in ``architectures``, or else its model type's class for a head.

    Raises ConfigError, WitnessError and UnknownNameError.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ConfigError(f"{path} has no 'model_type', such as \"gpt2\"")
    named = config.get("architectures")
    if named is None:
        return of_head(model_type, head)
    if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
        raise ConfigError(f"{path} has architectures={str(named)[:80]}; give exactly one class name")
    found = _class(_named(named[0], model_type), path, model_type)
    if not is_model_type(model_type):
        return TracedClass(
            found.config_class.model_type, found.config_class, found, _run_as(found, found.config_class.model_type)
        )
    made_by = config_class(model_type)
    source = _of_part(TracedClass(model_type, made_by, found, _run_as(found, model_type)))
    if not issubclass(source.config_class, found.config_class) and not _filed(made_by, found):
        raise ConfigError(
            f"{path} names {named[0]}, which is built from a {found.config_class.__name__}, but its model_type is "
            f"{model_type!r}, whose config class is {made_by.__name__}"
        )
    if head and (asked := of_head(model_type, head)).model_class is not found:
        raise ConfigError(f"{path} names {source.name}, but the {head} model of {model_type} is {asked.name}")
    return source


def _named(name: str, model_type: str) -> str:
    """Return the name of a class in the library's spelling, even if a config uses another case."""
    if name in _exported() or not is_model_type(model_type):
        return name
    offered = (getattr(_auto("modeling"), mapping + "_NAMES").get(model_type) for mapping in HEADS.values())
    classes = (each for filed in offered for each in ((filed,) if isinstance(filed, str) else filed or ()))
    return next((each for each in classes if spelling(each) == spelling(name)), name)


def _exported() -> set[str]:
    """Return the names that transformers exports. ``dir(transformers)`` returns the same but takes 0.2 seconds."""
    import transformers

    return {*transformers.__all__, *vars(transformers)}  # type: ignore[attr-defined]


def _filed(made_by: Any, model_class: Any) -> bool:
    """Return True if the library lists a class under a config class that the class was not written for."""
    mappings = (getattr(_auto("modeling"), mapping) for mapping in HEADS.values())
    return any(made_by in each and model_class in (filed := each[made_by], *_several(filed)) for each in mappings)


def _several(filed: Any) -> tuple[Any, ...]:
    return filed if isinstance(filed, tuple) else ()


def _of_part(source: TracedClass) -> TracedClass:
    """Return the source with the sub-config that the class is built from, such as text_config, if there is one."""
    wanted, holds = source.model_class.config_class, source.config_class
    if wanted is None or issubclass(holds, wanted):
        return source
    part = next((name for name, each in holds.sub_configs.items() if each is wanted), "")
    return replace(source, config_class=wanted, part=part) if part else source


def models_of_type(model_type: str) -> list[str]:
    """Return the names of the models built from a type's config, generative models first."""
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
    except Exception:  # no such name, or an optional library is not installed
        found = None
    model = isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)
    if not model or not found.__module__.startswith("transformers.") or found.config_class is None:
        others = models_of_type(model_type) if is_model_type(model_type) else []
        offered = f"; for this model type it has {', '.join(others[:3])}" if others else ""
        raise ConfigError(
            f"{path} names the class {name[:80]!r}, but transformers has no model with that name{offered}"
        )
    return found


def _decodes(found: Any) -> bool:
    """Return True if a class has decoder tokens in addition to the encoder's input."""
    return "decoder_input_ids" in inspect.signature(found.forward).parameters


def _run_as(found: Any, model_type: str) -> str:
    """Return the head whose inputs a class takes: its own head, or one of its model type with the same inputs."""
    if _decodes(found):
        return "seq2seq"
    offered = [name for name in FIRST if model_type in types(name) and name != "seq2seq"]
    for head in offered:
        if of_head(model_type, head).model_class is found:
            return head
    return next((head for head in ("masked", "causal") if head in offered), "base")


def assumption_notes(config: Mapping[str, Any], source: TracedClass) -> tuple[str, ...]:
    """Return notes on what a config does not state about the class that it is read with."""
    model_type = config["model_type"]
    found = [f"model_type {model_type!r} is unknown; the class {source.name} determines the model"] * (
        not is_model_type(model_type)
    )
    if config.get(TIED) is False and forces_tied(source.model_class, source.read(config)):
        found.append(
            f"{TIED}=false: the head has its own table, as in the checkpoint; a newly built model would share it"
        )
    said = f"no 'architectures' field, so read as {source.name}" + (
        f", built from {source.part}" if source.part else ""
    )
    return (*found, *[said] * (config.get("architectures") is None))


def ignored(source: TracedClass, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the switches in a config that do not affect the stored parameters, tied weights first.

    The class is built again for each switch, with that switch inverted.
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


def _rows(source: TracedClass, fields: Mapping[str, Any]) -> Rows | None:
    """Return the parameters that the class stores for these fields, or None if it rejects them."""
    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            return Session(lambda: source.build(fields)).stored()
    except Exception:  # any error: the class does not ignore the switch
        return None


def _auto(kind: str) -> Any:
    return importlib.import_module(f"transformers.models.auto.{kind}_auto")
