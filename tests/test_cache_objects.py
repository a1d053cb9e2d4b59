"""The caches of transformers in bfloat16 after a real forward pass, at lengths below and above windows.

``symformer verify`` compares caches with torch in float32. Here keys and values have 2 bytes and states 4.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
import torch
import transformers

from symformer import from_config
from symformer.language.errors import SymformerError
from symformer.language.symbols import SYMBOLS
from symformer.ledger.facts import CARRYING, OperationKind
from symformer.models.model import Model
from symformer.witness.model_calls import unpadded
from symformer.witness.torch_counts import tensors_of
from symformer.witness.torch_session import built

from .samples import sampled
from .test_config_fields import RUN, TYPES, Config, base, nested, source_of

LENGTHS = (2, 5, 11, 23)  # shorter than a kernel of 4 places; below and above the windows of the small configs
NO_TOKENS = ("images", "sound", "texts and images", "images among tokens", "encoder tokens")


def has_more_than_keys(model: Model) -> bool:
    """Return whether a model caches states, latents, windows or the keys and values of an encoder."""
    return any(
        entry.kind in (*CARRYING, OperationKind.CONVOLUTION)
        or entry.latent
        or (entry.kind is OperationKind.SCORES and (entry.window is not None or entry.inputs[1].encoded))
        for _, entry in model.component.ledger
    )


def asked() -> dict[str, Model]:
    """Return the models of the small configs whose caches are not only keys and values of all tokens."""
    found = {}
    for model_type, case in TYPES.items():
        if (
            case.config.inputs in NO_TOKENS or model_type == "deepseek_v4"
        ):  # test_compressed_attention.py has the latter
            continue
        model = from_config(nested(base(model_type)))
        try:
            model.formula("kv-cache")
        except SymformerError:
            continue
        if has_more_than_keys(model):
            found[model_type] = model
    return found


MODELS = asked()


def cached_bytes(torchs: Any, towers: bool, length: int) -> int:
    """Return the bytes of the tensors in the cache after one forward pass."""
    tokens = torch.zeros(RUN["B"], length, dtype=torch.long)
    with torch.no_grad():
        if towers:
            source = source_of(torchs.config)
            source = source.to(torch.bfloat16) if source.is_floating_point() else source
            output = torchs(source, decoder_input_ids=tokens, use_cache=True)
            both = output.past_key_values
            caches = [both.self_attention_cache, both.cross_attention_cache]
        else:
            takes = inspect.signature(type(torchs).forward).parameters.keys() & {"past_key_values", "cache_params"}
            caches = [transformers.DynamicCache(config=torchs.config)]
            torchs(tokens, use_cache=True, **dict.fromkeys(takes, caches[0]))
    stored = [tensor for cache in caches for tensor in tensors_of(cache).values()]
    if torchs.config.model_type == "recurrent_gemma":  # its recurrent blocks store their states themselves
        stored += [each for module in torchs.modules() for each in vars(module).values() if torch.is_tensor(each)]
    return sum(each.numel() * each.element_size() for each in stored if each.is_floating_point())


@pytest.mark.parametrize("model_type", sampled(3, MODELS))
def test_the_cache_after_a_forward_pass(model_type: str) -> None:
    model, config = MODELS[model_type], base(model_type)
    made_by = getattr(transformers, config["architectures"][0])
    fields: Config = json.loads(json.dumps(nested(config)))
    with unpadded():
        torchs = built(lambda: made_by(made_by.config_class.from_dict(fields)), "cpu").eval().to(torch.bfloat16)
        torchs.config._experts_implementation = "batched_mm"
        towers = TYPES[model_type].config.inputs == "source and target"
        formula = model.formula("kv-cache", dtype="bf16")
        for length in sorted({min(each, model.known.get(SYMBOLS["P"], each)) for each in LENGTHS}):
            given = {"B": RUN["B"], "C": length}
            given |= {"S_enc": RUN["S_enc"]} if SYMBOLS["S_enc"] in formula.symbols else {}
            assert cached_bytes(torchs, towers, length) == formula.value(**given), length
