"""Letters for the config fields of a model, by rule.

Some words of a field are its root, which gives the letter: ``hidden_size`` gives E, ``heads`` gives A. The other words,
the part of the config and the index in a list become the subscript: ``linear_num_value_heads`` is ``A_v_lin``,
``audio_config.hidden_size`` is ``E_aud``, and ``hidden_sizes[2]`` is ``E_2``. The letter of a field depends only on its
own path, unless another field of the model has the same letter: then one or both get a longer subscript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from sympy import Symbol

from .symbols import LETTERS, LONGEST, MEASURES, letter

ROUNDS = 10  # after which the path decides between fields of the same rank

# Fields that mean a letter of the alphabet under another name, and fields whose words give no good letter.
_NAMES = {
    "A": "attention_heads n_heads num_heads",
    "A_idx": "index_n_heads",
    "A_ssm": "mamba_n_heads mamba_num_heads n_mamba_heads",
    "C_chunk": "chunk_size mamba_chunk_size",
    "C_win": "attention_window_size sliding_window_size",
    "D": "attention_head_dim attention_head_size d_head d_kv dim_head kv_channels",
    "D_idx": "index_head_dim",
    "D_ssm": "mamba_d_head mamba_head_dim mamba_headdim",
    "E": "dim emb_dim embed_dim",
    "E_attn": "base_attn_unit_dims",
    "E_emb": "embedding_dim input_embedding_size word_embed_proj_dim",
    "E_feat": "input_feat_per_channel input_feat_size",
    "E_grp": "groups_width",
    "E_pli": "hidden_size_per_layer_input",
    "E_pred": "prediction_head_size",
    "E_proj": "project_dim projection_dim projection_size",
    "E_xy": "coordinate_size",
    "G": "num_kv_heads",
    "G_ssm": "mamba_n_groups mamba_ngroups n_groups",
    "H": "d_ff d_inner dff dim_ff ffn_dim ffn_hidden_size mlp_dim",
    "H_proj": "projection_hidden_dim projection_hidden_size projection_intermediate_dim projection_intermediate_size "
    "projector_hidden_size",
    "H_ssm": "mamba_d_ssm",
    "J_merge": "spatial_merge_size",
    "J_ssm": "expand mamba_expand",
    "K": "moe_k moe_topk",
    "K_conv": "conv1d_width conv_L_cache conv_kernel conv_kernel_size kernel_size linear_conv_kernel_dim mamba_d_conv",
    "K_group": "topk_group",
    "K_idx": "index_topk",
    "K_pos": "conv_pos_kernel_size",
    "L": "depth layers num_layers",
    "L_attn": "full_attention_layers",
    "L_cnv": "num_conv_layers",
    "L_conv": "conv_layers",
    "L_csa": "compressed_sparse_attention_layers",
    "L_dec": "decoder_num_hidden_layers",
    "L_dense": "num_dense_layers",
    "L_enc": "encoder_num_hidden_layers",
    "L_hca": "heavily_compressed_attention_layers",
    "L_lin": "linear_attention_layers",
    "L_mlp": "mlp_layers",
    "L_moe": "moe_layers",
    "L_win": "sliding_attention_layers",
    "M": "expert_ffn_hidden_size",
    "M_shared": "moe_shared_expert_intermediate_size share_expert_dim shared_experts_intermediate_size "
    "shared_intermediate_size",
    "N_chan": "audio_channels channels in_channels in_chans input_channels num_input_channels",
    "N_ffn": "num_feedforward_networks",
    "N_hc": "hc_mult",
    "N_inner": "inner_group_num",
    "N_mem": "num_maskmem",
    "N_out": "out_channels output_channels",
    "N_per_attn": "attn_layer_period",
    "N_rate": "sampling_rate",
    "N_reg": "num_registers",
    "N_self": "num_self_attends_per_block",
    "N_stage": "num_encoder_blocks num_stages",
    "N_state": "mamba_d_state ssm_state_size state_size",
    "P": "max_seq_len num_position_embeddings pos_embed_max_size position_embedding_size",
    "P_enc": "max_encoder_position_embeddings",
    "P_rel": "num_buckets position_bias_num_buckets position_buckets rel_extent rel_pos_bins",
    "R_dt": "mamba_dt_rank time_step_rank",
    "T_patch": "patch_size_t patch_temporal temporal_patch_size",
    "V_pli": "vocab_size_per_layer_input",
    "X": "moe_num_experts",
    "X_shared": "moe_num_shared_experts num_shared_experts",
    "Z": "input_size",
    "Z_tub": "tubelet_size",
}

# The letters of roots. The longest root in a field counts; of several, the first here.
_ROOTS = (
    ("R", "lora_rank rank"),
    ("N_per", "layer_period layer_interval layer_step layer_frequency sparse_step interval period step"),
    ("N_per", "attention_frequency layer_group_size"),
    ("N_off", "layer_offset offset"),
    ("N_cyc", "cycles"),
    ("J", "factor ratio ratios rate multiplier mult multiple multiple_of multiple_size stride strides expand"),
    ("J", "expansion divisor divisible_by reduction merge_size merger_times compress total_stride stride_sizes kpool"),
    ("N_grp", "conv_pos_embedding_groups groups group_num"),
    ("K_pos", "conv_pos_embeddings"),
    ("K", "kernel_size kernel_sizes conv_size"),
    ("X", "expert_num experts"),
    ("G", "kv_heads"),
    ("D", "head_dim head_size dim_head d_head"),
    ("A", "attention_heads heads"),
    ("H", "intermediate_size intermediate_dim feed_forward_hidden_size ffn_hidden_size ffn_dim mlp_dim"),
    ("H", "bottleneck_size"),
    ("C_w", "window_size window"),
    ("C", "block_size chunk_size max_distance radius context_length patch_length"),
    ("V", "vocab_size codebook_size codevectors buckets prompts langs types embeddings labels"),
    ("P", "position_embeddings positions pos_emb max_length ep_len seq_len token_length text_tokens unit_embeddings"),
    ("P", "max_depth background_size seq text_len grid_size relative_position prompt_length pos_bins"),
    ("Z", "image_size img_size patch_size roi_size"),
    ("Z_patch", "patch_sizes"),
    ("T", "frames"),
    ("N_code", "codebooks"),
    ("N_rep", "block_repeats"),
    ("L", "block_sizes"),
    ("E", "hidden_size hidden_sizes hidden_dim hidden_channels hidden_dimension embed_dim embed_dims embedding_dim"),
    ("E", "embedding_size emb_size emb_dim output_size feature_size feat_size feat_dim d_model channels channel_list"),
    ("E", "channel_size channel dim dims units filters latent_size d connector shape_size proj_size"),
    ("E", "freq_size prompt_size final_size lru_width"),
    ("N_patch", "patches patch"),
    ("L", "layers depth depths blocks"),
    ("K", "kernel"),
    ("J", "width"),
    ("N", ""),
)

# Words of subscripts. Other words are cut to their first letters.
_SHORT = {
    "": "by config d dict dim dims in_list int layer layers list max min n num of per rank size sizes stage the to",
    "ac": "acoustic",
    "ad": "adapter",
    "attn": "attention",
    "aud": "audio",
    "bb": "backbone",
    "blk": "block blocks",
    "ch": "channel channels",
    "cls": "class classifier",
    "char": "character",
    "code": "codebook",
    "comp": "compression",
    "cond": "condition conditioning",
    "conv": "conv1d",
    "ctx": "context",
    "cv": "codevector codevectors",
    "dec": "decoder",
    "desc": "descriptor",
    "dn": "down downsample downsampling",
    "ds": "downsampler",
    "dw": "depthwise",
    "emb": "embedding embeddings embed",
    "enc": "encoder",
    "feat": "feature",
    "ffn": "feedforward feed forward",
    "filt": "filters",
    "freq": "frequency",
    "gate": "gated",
    "glob": "global",
    "gram": "ngram",
    "grp": "group groups",
    "h": "height",
    "idx": "index",
    "img": "image",
    "in": "input inputs",
    "joint": "joint",
    "k": "key",
    "kp": "keypoint",
    "l": "left",
    "lang": "langs",
    "lin": "linear",
    "mem": "memory",
    "mm": "mmdit multimodal",
    "out": "output outputs",
    "pat": "patch patches",
    "pj": "projector",
    "pool": "pooler pooled",
    "post": "postnet",
    "pr": "prompt prompts",
    "pre": "prenet pretrain",
    "pred": "predictor prediction",
    "proj": "projection",
    "pron": "pronunciation",
    "proto": "prototypes",
    "ptr": "pointer",
    "pts": "points point",
    "px": "pixel",
    "q": "query queries",
    "qf": "qformer",
    "quant": "quantization vector",
    "r": "right",
    "rel": "relative",
    "router": "router",
    "sc": "scale",
    "sh": "shared",
    "shape": "shape",
    "single": "single",
    "shuf": "shuffle",
    "sp": "spatial",
    "spk": "speaker speakers",
    "sq": "squeeze",
    "stack": "stack",
    "state": "state",
    "sub": "subsampling",
    "t": "timestep",
    "tgt": "target",
    "tile": "tiles",
    "time": "temporal",
    "txt": "text",
    "up": "upsample upsampling",
    "v": "value",
    "vis": "vision visual",
    "w": "width",
    "wp": "wordpiece",
    "x": "cross",
}
# These words are left out of a subscript that is unique without them.
_FAINT = (
    *("attends", "dit", "embed", "embedding", "embeddings", "emb", "extract", "feat", "feature", "forward"),
    *("functions", "group", "grid", "hidden", "interleave", "kernel", "model", "norm", "pos", "position", "positional"),
    *("sinusoid", "sparse", "speech", "stages", "step", "token", "tokens", "total", "transformer", "widening", "xpath"),
)
_FIRST = ("q", "k", "v", "kv", "post", "pre", "x")  # these words are first in a subscript

_OF_ENCODERS = ("E_enc", "H_enc", "A_enc", "G_enc", "D_enc")  # letters of the alphabet, also for roots

# Parts of a config whose subscript is not their first word.
_PARTS = {
    "depth_decoder": "dd",
    "detr_decoder": "dec",
    "detr_encoder": "enc",
    "geometry_encoder": "geo",
    "image": "vis",
    "mask_decoder": "md",
    "perceiver": "res",
    "speech": "spk",
}


@dataclass(frozen=True)
class _Reading:
    """The letter of a field, and what can become its subscript."""

    path: str
    letter: str  # of the alphabet, or of the root, with the subscript that it already has
    known: int  # 0 for a field of the alphabet, 1 for another name, 2 for a root
    words: tuple[str, ...]  # the other words, shortened
    faint: tuple[str, ...]  # words that are added if the letter is taken
    part: str
    index: str

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Return the order in which fields may have a letter: fields of the text model first, then usual names."""
        return (["", "txt", self.part].index(self.part), self.known, len(self.words), len(self.faint))

    def candidates(self) -> Iterator[str]:
        """Yield letters from the preferred one on."""
        base, *own = self.letter.split("_")
        part = "" if self.part == "txt" else self.part
        towers = [part, self.part]
        if base in "ZT" or (own and base != "C"):  # such a size rarely exists in two parts
            towers = ["", *towers]
        for tower in dict.fromkeys(towers):
            for words in (self.words[:2], self.words[:1], self.words[1:3], self.words[1:2], self.words[2:3]):
                if self.words[:1] and not words:
                    continue
                yield from _fitting(base, (*own, *words), tower, self.index)
        for words in ((*self.words[:1], *self.faint[:1]), (*self.words[:1], *self.faint[1:2])):
            yield from _fitting(base, (*own, *words), self.part, self.index)
        yield _cut(base, (*own, *self.words[:2]), self.part, self.index)
        for number in count(2):
            yield _cut(base, (*own, *self.words[:1], f"b{number}"), self.part, self.index)


def _fitting(base: str, words: tuple[str, ...], part: str, index: str) -> Iterator[str]:
    """Yield a name if it is short enough."""
    rest = (*(word for word in dict.fromkeys(words) if word != part), *filter(None, (part, index)))
    if len(base) + sum(map(len, rest)) <= LONGEST:
        yield "_".join((base, *rest))


def _cut(base: str, words: tuple[str, ...], part: str, index: str) -> str:
    """Return a name whose words are cut until it is short enough."""
    rest = tuple(filter(None, (part, index)))
    words = tuple(word for word in dict.fromkeys(words) if word != part)
    while len(base) + sum(map(len, (*words, *rest))) > LONGEST:
        longest = max(words, key=len)
        words = tuple(word[:-1] if word == longest else word for word in words)
    return "_".join((base, *filter(None, words), *rest))


def letters_of_fields(fields: Collection[str]) -> dict[str, str]:
    """Return a letter for each config field of a model, all different.

    Parameters
    ----------
    fields
        The paths of the fields, such as ``text_config.hidden_size`` and ``depths[0]``, in any order. A letter of the
        alphabet, such as the B of a run, keeps its meaning.

    Examples
    --------
    >>> letters_of_fields(["hidden_size", "linear_num_value_heads", "vision_config.hidden_size", "depths[0]"])
    {'hidden_size': 'E', 'linear_num_value_heads': 'A_v_lin', 'vision_config.hidden_size': 'E_vis', 'depths[0]': 'L_0'}

    """
    found = {name: name for name in fields if name in LETTERS}
    waiting = {each: each.candidates() for each in map(_reading, {*fields} - {*found})}
    for turn in count():
        if not waiting:
            break
        taken = {*found.values()}
        wanted: dict[str, list[_Reading]] = {}
        for each, names in sorted(waiting.items(), key=lambda one: (one[0].rank, one[0].path)):
            name = next(name for name in names if name not in taken and _free(name, each))
            wanted.setdefault(name, []).append(each)
        for name, (first, *others) in wanted.items():
            if not others or first.rank < others[0].rank or turn > ROUNDS:
                found[first.path] = name
                del waiting[first]
    return {name: found[name] for name in fields}


def _free(name: str, reading: _Reading) -> bool:
    """Return whether a name has no other meaning in the alphabet."""
    row = LETTERS.get(name)
    if row is None:
        return name not in MEASURES
    if reading.known == 2:  # such as encoder_attention_heads, and the hidden_dim of a part that is an encoder
        return name in _OF_ENCODERS and (reading.words == ("enc",) or (reading.part == "enc" and not reading.words))
    return not row.run and name in (reading.letter, f"{reading.letter}_{reading.part}")


@lru_cache(maxsize=4096)
def _reading(path: str) -> _Reading:
    whole, _, place = path.partition("[")
    part, _, name = whole.rpartition(".")
    part, index = part.removesuffix("_config"), place.removesuffix("]")
    tower = _PARTS.get(part) or _short(part.partition("_")[0])
    words = name.lower().replace("key_value", "kv").split("_")
    if name in _NAMED:
        letter, known = _NAMED[name]
        return _Reading(path, letter, known, (), _shortened(words), tower, index)
    letter, root, rest = _root(words)
    strong = sorted(_shortened(word for word in rest if word not in _FAINT), key=lambda one: one not in _FIRST)
    if {"x", "self"} & {*strong}:
        strong = [word for word in strong if word != "attn"]
    faint = _shortened((*root, *(word for word in rest if word in _FAINT)))
    return _Reading(path, letter, 2, tuple(strong), faint, tower, index)


def _shortened(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, dict.fromkeys(map(_short, words))))


def _root(words: list[str]) -> tuple[str, list[str], list[str]]:
    """Return the letter of the longest root in the words of a field, the words of this root, and the others."""
    best: tuple[str, list[str], list[str]] = ("N", [], words)
    for name, roots in _ROOTS:
        for parts in (root.split("_") for root in roots.split()):
            for start in range(len(words) - len(parts) + 1):
                if words[start : start + len(parts)] == parts and len(parts) > len(best[1]):
                    best = (name, parts, words[:start] + words[start + len(parts) :])
    return best


def _short(word: str) -> str:
    if word[-1:].isdigit() and len(word) > 4:  # time0
        return word[0] + word[-1]
    return _SUBSCRIPTS.get(word, word if len(word) <= 4 else word[:3])


_SUBSCRIPTS = {word: short for short, words in _SHORT.items() for word in (short, *words.split())}
# The letter of each known name, and how it is known.
_NAMED = {name: (own, 0) for own in reversed([*LETTERS]) for name in LETTERS[own].config}
_NAMED |= {name: (own, 1) for own, names in _NAMES.items() for name in names.split()}


def other_names(letters: Mapping[str, str], former: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the other names by which the sizes of a model can be given, with the letter of each.

    These are the paths of their config fields, also with underscores only, the last part of a path if it is unique,
    and ``former`` letters of the fields.

    >>> other_names({"hidden_size": "E", "audio_config.depths[0]": "L_aud_0"})
    {'hidden_size': 'E', 'audio_config.depths[0]': 'L_aud_0', 'audio_config_depths_0': 'L_aud_0', 'depths_0': 'L_aud_0'}
    """
    last = {field: _plain(field.rpartition(".")[2]) for field in letters}
    alone = Counter(last.values())
    found = dict(letters)
    for field, own in letters.items():
        found.setdefault(_plain(field), own)
    for field, own in letters.items():
        if alone[last[field]] == 1:
            found.setdefault(last[field], own)
    for field, name in (former or {}).items():
        found.setdefault(name, letters[field])
    return {name: own for name, own in found.items() if name not in letters.values()}


def _plain(path: str) -> str:
    return path.replace(".", "_").replace("[", "_").removesuffix("]")


def described(size: Symbol, field: str = "") -> str:
    """Return the meaning of the letter of a size, or else of its config field.

    >>> from symformer.language.symbols import named_symbol
    >>> described(named_symbol("A_v_attn"), "attention_value_heads"), described(named_symbol("E"), "hidden_size")
    ('attention value heads', 'hidden size')
    """
    if size.name in LETTERS or not field or field == size.name:
        return letter(size).meaning
    return meaning_of_field(field)


def meaning_of_field(path: str) -> str:
    """Return the words of a config field as a phrase.

    >>> meaning_of_field("vision_config.temporal_patch_size"), meaning_of_field("depths[1]")
    ('temporal patch size of the vision part', 'depths, entry 1')
    >>> meaning_of_field("zero_expert_num"), meaning_of_field("qk_head_dim")
    ('zero experts', 'query/key head dimension')
    """
    whole, _, place = path.partition("[")
    part, _, name = whole.rpartition(".")
    words = name.split("_")
    if words[0] == "d":  # d_kv
        words = [*words[1:], "dim"]
    said = " ".join(filter(None, (_WORDS.get(word, word) for word in words)))
    said += "s" * (words[-1] == "num" and len(words) > 1 and not said.endswith("s"))  # zero_expert_num
    owner = " ".join(_WORDS.get(word, word) for word in part.removesuffix("_config").split("_") if word != "text")
    owner += " part" * (owner in ("vision", "image", "audio", "speech"))
    index = place.removesuffix("]")
    return said + f" of the {owner}" * bool(owner) + f", entry {index}" * bool(index)


# Abbreviations in the names of config fields.
_WORDS = {
    "attn": "attention",
    "conv": "convolution",
    "conv1d": "convolution",
    "dim": "dimension",
    "dims": "dimensions",
    "emb": "embedding",
    "ffn": "feed-forward",
    "freq": "frequency",
    "in": "input",
    "init": "initial",
    "k": "key",
    "kv": "key/value",
    "max": "maximum",
    "min": "minimum",
    "n": "",
    "num": "",
    "out": "output",
    "pos": "position",
    "proj": "projection",
    "q": "query",
    "qk": "query/key",
    "rel": "relative",
    "seq": "sequence",
    "v": "value",
}
