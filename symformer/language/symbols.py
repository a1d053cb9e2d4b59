"""The alphabet: one table with one name per size, used as Python variable, SymPy symbol, keyword and JSON key.

The rows are in printing order: the terms of one degree, as in ``12LE² + 13LE + VE + PE + 2E``, and the factors of each
term are sorted by it. Symbols are created only here, as positive integers: a SymPy symbol with the same name but other
assumptions is a different symbol, and substituting it would silently have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from sympy import Symbol

from .errors import UnknownNameError
from .frozen import FrozenDict


@dataclass(frozen=True)
class Letter:
    """One row of the alphabet."""

    name: str
    meaning: str
    unit: str
    config: tuple[str, ...] = ()  # the usual names of this size in a config.json
    growth: int = 1  # degree of growth as a model scales up: the head dimension stays constant, so D has 0
    run: bool = False  # a size of the run (batch, lengths), not of the model
    ranks: bool = False  # a number of ranks, which does not count in the degree: 12LE²/N_tp has degree 3
    word: bool = False  # a whole word used as a symbol, such as a config field without a letter

    @property
    def base(self) -> str:
        """The letter itself: ``L`` of ``L_enc``."""
        return self.name if self.word else self.name.partition("_")[0]

    @property
    def subscript(self) -> str:
        """The subscript: ``enc`` of ``L_enc``; empty for a plain letter."""
        return "" if self.word else self.name.partition("_")[2].replace("_", ",")

    @property
    def latex(self) -> str:
        r"""The LaTeX form: ``L_{\mathrm{enc}}``."""
        if self.word:
            return rf"\mathrm{{{self.name.replace('_', chr(92) + '_')}}}"
        return rf"{self.base}_{{\mathrm{{{self.subscript}}}}}" if self.subscript else self.base


_TABLE = (
    Letter("B", "batch size", "sequences", run=True),
    Letter("B_vis", "image batch size", "images", run=True),
    Letter("S", "sequence length", "tokens", run=True),
    Letter("S_enc", "sequence length of the encoder", "tokens", run=True),
    Letter("S_txt", "tokens of the text", "tokens", run=True),
    Letter("S_img", "tokens of the image", "tokens", run=True),
    Letter("C", "tokens already in the cache", "tokens", run=True),
    Letter("C_pre", "tokens of a prefix that all sequences share", "tokens", run=True),
    Letter("S_step", "tokens that an engine processes in one step", "tokens", growth=0, run=True),
    Letter("S_page", "tokens of a page of the cache", "tokens", growth=0),
    Letter("N_new", "new tokens", "tokens", run=True),
    Letter("N_tok", "training tokens", "tokens", run=True),
    Letter(
        "C_win", "tokens in the attention window, including the current one", "tokens", ("sliding_window",), growth=0
    ),
    Letter("C_win_enc", "tokens in the attention window of the encoder on each side", "tokens", growth=0),
    Letter(
        "C_local",
        "tokens in the local attention window, half on each side",
        "tokens",
        ("local_attention",),
        growth=0,
    ),
    Letter("C_chunk", "tokens per chunk of a scan or of attention", "tokens", ("attention_chunk_size",), growth=0),
    Letter("C_csa", "tokens per entry of compressed sparse attention", "tokens", ("compress_rate_csa",), growth=0),
    Letter("C_hca", "tokens per entry of heavily compressed attention", "tokens", ("compress_rate_hca",), growth=0),
    Letter("C_q", "queries per block of an attention kernel", "tokens", growth=0, run=True),
    Letter("C_kv", "keys and values per block of an attention kernel", "tokens", growth=0, run=True),
    Letter("L", "layers", "layers", ("num_hidden_layers", "n_layer", "n_layers")),
    Letter("L_enc", "layers of the encoder", "layers", ("encoder_layers", "num_encoder_layers")),
    Letter("L_dec", "layers of the decoder", "layers", ("decoder_layers", "num_decoder_layers")),
    Letter("L_double", "layers with separate weights for text and image", "layers"),
    Letter(
        "L_single",
        "layers with the same weights for text and image",
        "layers",
        ("num_single_layers", "num_single_dit_layers"),
    ),
    Letter("L_dual", "layers with a second attention", "layers", ("dual_attention_layers",)),
    Letter("L_vis", "layers of the vision transformer", "layers"),
    Letter("L_deep", "layers that add image features", "layers"),
    Letter("L_local", "layers with local attention", "layers", ("layer_types",)),
    Letter("L_global", "layers with global attention", "layers", ("layer_types",)),
    Letter("L_loc_enc", "layers of the encoder with local attention", "layers"),
    Letter("L_glo_enc", "layers of the encoder with global attention", "layers"),
    Letter(
        "L_loc_re",
        "layers with local attention that reuse the keys and values of an earlier layer",
        "layers",
        ("num_kv_shared_layers",),
    ),
    Letter(
        "L_glo_re",
        "layers with global attention that reuse the keys and values of an earlier layer",
        "layers",
        ("num_kv_shared_layers",),
    ),
    Letter("L_sparse", "layers with sparse activations", "layers", ("activation_sparsity_pattern",)),
    Letter("L_csa", "layers with compressed sparse attention", "layers", ("layer_types",)),
    Letter("L_hca", "layers with heavily compressed attention", "layers", ("layer_types",)),
    Letter("L_rope", "layers with rotary positions", "layers", ("no_rope_layers",)),
    Letter("L_nope", "layers without positions", "layers", ("no_rope_layers",)),
    Letter("L_ssm", "layers with a state-space mixer", "layers", ("layer_types",)),
    Letter(
        "L_ssm_d",
        "layers with a state-space mixer and a dense feed-forward network",
        "layers",
        ("attn_layer_period",),
    ),
    Letter(
        "L_hyb", "layers with a state-space mixer after a shared transformer block", "layers", ("layers_block_type",)
    ),
    Letter("L_attn", "layers with attention", "layers", ("layer_types",)),
    Letter("L_lin", "layers with linear attention", "layers", ("layer_types",)),
    Letter("L_lin_x", "layers with linear attention and experts", "layers", ("layer_types",)),
    Letter("L_rec", "layers with a recurrent block", "layers", ("block_types",)),
    Letter("L_conv", "layers with a short convolution", "layers", ("layer_types",)),
    Letter("L_conv_x", "layers with a short convolution and experts", "layers", ("layer_types",)),
    Letter("L_mlp", "layers with only a feed-forward network", "layers", ("layer_types",)),
    Letter("L_dense", "layers with a dense feed-forward network", "layers", ("first_k_dense_replace",)),
    Letter("L_loc_x", "layers with local attention and experts", "layers", ("layer_types",)),
    Letter("L_glo_x", "layers with global attention and experts", "layers", ("layer_types",)),
    Letter("L_idx", "layers with an indexer and experts", "layers", ("indexer_types",)),
    Letter(
        "L_reuse", "layers with experts that reuse the keys chosen in an earlier layer", "layers", ("indexer_types",)
    ),
    Letter("L_moe", "layers with experts", "layers", ("num_hidden_layers",)),
    Letter("L_enc_d", "layers of the encoder with a dense feed-forward network", "layers", ("encoder_layers",)),
    Letter("L_enc_x", "layers of the encoder with experts", "layers", ("encoder_layers",)),
    Letter("L_dec_d", "layers of the decoder with a dense feed-forward network", "layers", ("decoder_layers",)),
    Letter("L_dec_x", "layers of the decoder with experts", "layers", ("decoder_layers",)),
    Letter("L_better", "layers with the better types of a GGUF mixture", "layers"),
    Letter("N_group", "groups of layers with shared weights", "layers", ("num_hidden_groups",)),
    Letter("V", "vocabulary size", "rows", ("vocab_size",)),
    Letter("V_pli", "vocabulary size of the per-layer embeddings", "rows", ("vocab_size_per_layer_input",)),
    Letter("V_type", "token types (segments)", "rows", ("type_vocab_size",)),
    Letter("P", "learned positions", "rows", ("max_position_embeddings", "n_positions", "n_ctx")),
    Letter("P_enc", "positions of the encoder", "rows", ("max_source_positions",)),
    Letter("P_vis", "learned positions of the vision transformer", "rows"),
    Letter("P_rel", "relative position buckets", "rows", ("relative_attention_num_buckets",), growth=0),
    Letter("N_mel", "mel frequency bins", "elements", ("num_mel_bins",), growth=0),
    Letter("E_wave", "channels of the convolutions over the sound wave", "elements"),
    Letter("N_hc", "residual streams of hyper-connections", "streams", ("hc_mult",), growth=0),
    Letter("E_emb", "embedding size, if different from the hidden size", "elements", ("embedding_size",)),
    Letter("E", "hidden size", "elements", ("hidden_size", "n_embd", "d_model")),
    Letter("E_enc", "hidden size of the encoder", "elements"),
    Letter("E_pli", "width of the per-layer embeddings", "elements", ("hidden_size_per_layer_input",)),
    Letter("E_vis", "hidden size of the vision transformer", "elements"),
    Letter("E_proj", "projection size of texts and images", "elements"),
    Letter("E_joint", "width of the encoded text", "elements", ("joint_attention_dim",)),
    Letter("E_pool", "width of the pooled text", "elements", ("pooled_projection_dim",)),
    Letter("H", "intermediate size of the MLP", "elements", ("intermediate_size", "n_inner", "d_ff")),
    Letter("H_enc", "intermediate size of the encoder's MLP", "elements"),
    Letter("H_vis", "intermediate size of the vision transformer's MLP", "elements"),
    Letter("X", "experts", "experts", ("num_local_experts", "n_routed_experts", "num_experts")),
    Letter("X_shared", "shared experts", "experts", ("n_shared_experts",), growth=0),
    Letter("K", "experts per token", "experts", ("num_experts_per_tok",), growth=0),
    Letter("M", "intermediate size of one expert", "elements", ("moe_intermediate_size", "intermediate_size")),
    Letter(
        "M_shared",
        "intermediate size of the shared expert",
        "elements",
        ("shared_expert_intermediate_size",),
    ),
    Letter("A", "query heads", "heads", ("num_attention_heads", "n_head")),
    Letter("A_enc", "query heads of the encoder", "heads"),
    Letter("A_vis", "query heads of the vision transformer", "heads"),
    Letter("G", "key/value heads", "heads", ("num_key_value_heads",)),
    Letter("G_enc", "key/value heads of the encoder", "heads"),
    Letter("G_global", "key/value heads of layers with global attention", "heads", ("num_global_key_value_heads",)),
    Letter("A_lin", "heads of linear attention", "heads", ("linear_num_heads",)),
    Letter("A_k_lin", "heads of queries and keys in linear attention", "heads", ("linear_num_key_heads",)),
    Letter("A_v_lin", "heads of values in linear attention", "heads", ("linear_num_value_heads",)),
    Letter("A_idx", "heads of the indexer", "heads"),
    Letter("D_idx", "head dimension of the indexer", "elements", growth=0),
    Letter("K_idx", "keys that the indexer chooses for each query", "keys", growth=0),
    Letter("K_conv", "kernel size of the convolution, including the current position", "places", growth=0),
    Letter("K_near", "kernel size of the convolution for positions", "places", growth=0),
    Letter("G_near", "groups of channels of the convolution for positions", "groups", growth=0),
    Letter("H_ssm", "inner size of a state-space mixer", "elements"),
    Letter("H_lru", "inner size of a recurrent block", "elements", ("lru_width",)),
    Letter("A_ssm", "heads of a state-space mixer", "heads"),
    Letter("G_ssm", "groups of heads of a state-space mixer", "groups", growth=0),
    Letter("D_ssm", "head dimension of a state-space mixer", "elements", growth=0),
    Letter("N_state", "state size per element", "elements", growth=0),
    Letter("R_dt", "rank of the time steps", "elements"),
    Letter("R_adapter", "rank of the adapters of shared weights", "elements", ("adapter_rank",)),
    Letter("R_lau", "rank of the learned residual", "elements", ("laurel_rank",)),
    Letter("R_w", "rank of the decays of a recurrent state", "elements", ("decay_low_rank_dim",)),
    Letter("R_a", "rank of the learning rates of a recurrent state", "elements", ("a_low_rank_dim",)),
    Letter("R_v", "rank of the shares of the first layer's values", "elements", ("v_low_rank_dim",)),
    Letter("R_g", "rank of the gates", "elements", ("gate_low_rank_dim",)),
    Letter("R_q", "rank of the query latent", "elements", ("q_lora_rank",)),
    Letter("R_kv", "rank of the key/value latent", "elements", ("kv_lora_rank",)),
    Letter("G_out", "groups of heads of the output projection", "groups", ("o_groups",)),
    Letter("R_out", "rank of the output projection of a group of heads", "elements", ("o_lora_rank",)),
    Letter("D", "head dimension", "elements", ("head_dim",), growth=0),
    Letter("D_enc", "head dimension of the encoder", "elements", growth=0),
    Letter("D_global", "head dimension of layers with global attention", "elements", ("global_head_dim",), growth=0),
    Letter("D_nope", "head dimensions without positions", "elements", ("qk_nope_head_dim",), growth=0),
    Letter("D_rope", "head dimensions with rotary positions", "elements", ("qk_rope_head_dim",), growth=0),
    Letter("D_v", "head dimension of the values", "elements", ("v_head_dim",), growth=0),
    Letter(
        "D_k_lin",
        "head dimension of queries and keys in linear attention",
        "elements",
        ("linear_key_head_dim",),
        growth=0,
    ),
    Letter("D_v_lin", "head dimension of values in linear attention", "elements", ("linear_value_head_dim",), growth=0),
    Letter("D_lin", "head dimension of linear attention", "elements", ("linear_head_dim",), growth=0),
    Letter("D_shared", "head dimensions of keys that all heads share", "elements", growth=0),
    Letter("Z", "image side length", "pixels", ("image_size",), growth=0),
    Letter("Z_patch", "patch side length", "pixels", ("patch_size",), growth=0),
    Letter("J_merge", "patches per side of a square that becomes one token", "patches", growth=0),
    Letter("T_patch", "frames per patch", "frames", growth=0),
    Letter("Z_win", "tokens per side of a window of an image", "tokens", growth=0),
    Letter("Z_pool", "tokens per side of an image, after pooling", "tokens", growth=0),
    Letter("N_class", "classes", "classes", ("num_labels",)),
    Letter("N_chan", "channels of the image", "channels", ("num_channels",), growth=0),
    Letter("N_reg", "register tokens", "tokens", ("num_register_tokens",), growth=0),
    Letter("N_alt", "residual streams of alternating updates", "streams", ("altup_num_inputs",), growth=0),
    Letter("N_out", "output channels", "channels", growth=0),
    Letter("R", "rank of a low-rank update", "elements", growth=0, run=True),
    Letter("H_adapter", "hidden size of an adapter", "elements", growth=0, run=True),
    Letter("W", "bytes per element", "bytes", growth=0, run=True),
    Letter("Z_group", "elements per group of a quantized matrix", "elements", growth=0, run=True),
    Letter("N_tp", "tensor-parallel ranks", "ranks", growth=0, run=True, ranks=True),
    Letter("N_pp", "pipeline stages", "stages", growth=0, run=True, ranks=True),
    Letter("I_pp", "pipeline stages before this one", "stages", growth=0, run=True, ranks=True),
    Letter("N_dp", "data-parallel ranks", "ranks", growth=0, run=True, ranks=True),
    Letter("N_cp", "context-parallel ranks", "ranks", growth=0, run=True, ranks=True),
    Letter("N_ep", "expert-parallel ranks", "ranks", growth=0, run=True, ranks=True),
    Letter("N_micro", "micro-batches of a training step", "micro-batches", growth=0, run=True),
    Letter("N_virt", "interleaved pipeline stages per rank", "stages", growth=0, run=True),
    Letter("N_tps", "tokens per second on all devices", "tokens", growth=0, run=True),
    Letter("N_dev", "devices", "devices", growth=0, run=True),
    Letter("N_peak", "peak FLOPs per second of one device", "FLOPs", growth=0, run=True),
    Letter("N_bw", "bytes per second between the memory and the processor of one device", "bytes", growth=0, run=True),
)

# Letters reserved for quantities: numbers of elements, FLOPs, bytes in use, bytes moved (as in the roofline model),
# intensity, and shares. Measure takes its letter from these; no size has one of them.
MEASURES = frozenset("NFUQIY")
TIME = "T"  # the letter of times, which always has a subscript: a size of a traced function may be named T

# Former letters, which are accepted wherever a size is given by its letter.
FORMER: Mapping[str, str] = MappingProxyType(
    {
        **{"L_ssm_dense": "L_ssm_d", "L_conv_moe": "L_conv_x", "L_local_moe": "L_loc_x", "L_global_moe": "L_glo_x"},
        "E_lru": "H_lru",
    }
)

LETTERS: Mapping[str, Letter] = MappingProxyType({letter.name: letter for letter in _TABLE})
SYMBOLS: Mapping[str, Symbol] = MappingProxyType({name: Symbol(name, integer=True, positive=True) for name in LETTERS})
RUN_SIZES = frozenset(SYMBOLS[name] for name, row in LETTERS.items() if row.run)
_FIELDS: Mapping[str, str] = {field: each.name for each in reversed(_TABLE) for field in each.config}
_RANKS: Mapping[str, int] = {name: rank for rank, name in enumerate(LETTERS)}
_LAST: Mapping[str, int] = {each.base: _RANKS[each.name] for each in _TABLE}  # letter -> its last row

B, S, S_enc, C, N_new, N_tok, C_win, C_local = (
    SYMBOLS[name] for name in ("B", "S", "S_enc", "C", "N_new", "N_tok", "C_win", "C_local")
)
C_pre, S_step = SYMBOLS["C_pre"], SYMBOLS["S_step"]
S_page = SYMBOLS["S_page"]
S_txt, S_img = SYMBOLS["S_txt"], SYMBOLS["S_img"]
L, L_enc, L_dec = (SYMBOLS[name] for name in ("L", "L_enc", "L_dec"))
L_local, L_global, L_dense, L_moe = (SYMBOLS[name] for name in ("L_local", "L_global", "L_dense", "L_moe"))
L_csa, L_hca, C_csa, C_hca = (SYMBOLS[name] for name in ("L_csa", "L_hca", "C_csa", "C_hca"))
N_hc, G_out, R_out = (SYMBOLS[name] for name in ("N_hc", "G_out", "R_out"))
L_idx, L_reuse = SYMBOLS["L_idx"], SYMBOLS["L_reuse"]
L_loc_re, L_glo_re, L_sparse = (SYMBOLS[name] for name in ("L_loc_re", "L_glo_re", "L_sparse"))
V_pli, E_pli, R_lau, N_alt = (SYMBOLS[name] for name in ("V_pli", "E_pli", "R_lau", "N_alt"))
L_rope, L_nope = (SYMBOLS[name] for name in ("L_rope", "L_nope"))
L_loc_x, L_conv_x, L_glo_x = (SYMBOLS[name] for name in ("L_loc_x", "L_conv_x", "L_glo_x"))
L_ssm, L_attn, L_conv, L_mlp = (SYMBOLS[name] for name in ("L_ssm", "L_attn", "L_conv", "L_mlp"))
R_w, R_a, R_v, R_g = (SYMBOLS[name] for name in ("R_w", "R_a", "R_v", "R_g"))
L_ssm_d, L_hyb, R_adapter = (SYMBOLS[name] for name in ("L_ssm_d", "L_hyb", "R_adapter"))
L_lin, L_lin_x, A_lin, D_lin, D_shared = (SYMBOLS[name] for name in ("L_lin", "L_lin_x", "A_lin", "D_lin", "D_shared"))
A_k_lin, A_v_lin, D_k_lin, D_v_lin = (SYMBOLS[name] for name in ("A_k_lin", "A_v_lin", "D_k_lin", "D_v_lin"))
H_ssm, A_ssm, G_ssm, D_ssm = (SYMBOLS[name] for name in ("H_ssm", "A_ssm", "G_ssm", "D_ssm"))
N_state, R_dt, C_chunk, K_conv = (SYMBOLS[name] for name in ("N_state", "R_dt", "C_chunk", "K_conv"))
V, V_type, P, P_enc, P_vis, P_rel = (SYMBOLS[name] for name in ("V", "V_type", "P", "P_enc", "P_vis", "P_rel"))
Z, Z_patch, Z_pool, N_chan = (SYMBOLS[name] for name in ("Z", "Z_patch", "Z_pool", "N_chan"))
Z_win, J_merge, T_patch = (SYMBOLS[name] for name in ("Z_win", "J_merge", "T_patch"))
E_wave, K_near, G_near = (SYMBOLS[name] for name in ("E_wave", "K_near", "G_near"))
N_out, N_class = SYMBOLS["N_out"], SYMBOLS["N_class"]
N_group, N_mel, N_reg = (SYMBOLS[name] for name in ("N_group", "N_mel", "N_reg"))
E, E_emb, H, X, X_shared, K, M = (SYMBOLS[name] for name in ("E", "E_emb", "H", "X", "X_shared", "K", "M"))
M_shared = SYMBOLS["M_shared"]
L_double, L_single, L_dual = (SYMBOLS[name] for name in ("L_double", "L_single", "L_dual"))
L_better = SYMBOLS["L_better"]
E_joint, E_pool = SYMBOLS["E_joint"], SYMBOLS["E_pool"]
B_vis, L_vis, L_deep, E_vis, E_proj, H_vis, A_vis = (
    SYMBOLS[name] for name in ("B_vis", "L_vis", "L_deep", "E_vis", "E_proj", "H_vis", "A_vis")
)
A, G, D, R, H_adapter, W = (SYMBOLS[name] for name in ("A", "G", "D", "R", "H_adapter", "W"))
G_global, D_global = SYMBOLS["G_global"], SYMBOLS["D_global"]
A_idx, D_idx, K_idx = (SYMBOLS[name] for name in ("A_idx", "D_idx", "K_idx"))
R_q, R_kv, D_nope, D_rope, D_v = (SYMBOLS[name] for name in ("R_q", "R_kv", "D_nope", "D_rope", "D_v"))
E_enc, H_enc, A_enc, G_enc, D_enc = (SYMBOLS[name] for name in ("E_enc", "H_enc", "A_enc", "G_enc", "D_enc"))
L_loc_enc, L_glo_enc, C_win_enc = (SYMBOLS[name] for name in ("L_loc_enc", "L_glo_enc", "C_win_enc"))
L_rec, H_lru = SYMBOLS["L_rec"], SYMBOLS["H_lru"]
Z_group = SYMBOLS["Z_group"]
C_q, C_kv = (SYMBOLS[name] for name in ("C_q", "C_kv"))
N_tp, N_pp, I_pp = (SYMBOLS[name] for name in ("N_tp", "N_pp", "I_pp"))
N_dp, N_cp, N_ep = (SYMBOLS[name] for name in ("N_dp", "N_cp", "N_ep"))
N_micro, N_virt, N_tps, N_dev, N_peak = (SYMBOLS[name] for name in ("N_micro", "N_virt", "N_tps", "N_dev", "N_peak"))
N_bw = SYMBOLS["N_bw"]


def symbol(name: str, own: Iterable[Symbol] = ()) -> Symbol:
    """Return the symbol with a given name: a letter of the alphabet, or one of ``own``, the sizes of a model.

    Only the alphabet is shared by all models: a size that a trace names by its config field belongs to that model.

    Raises
    ------
    UnknownNameError
        If there is no such symbol; the message suggests the nearest names, or the letter of a config field.

    Examples
    --------
    >>> symbol("E").is_positive
    True
    >>> symbol("mamba_d_state", own=[name_size("mamba_d_state")])
    mamba_d_state

    """
    names = own.names if isinstance(own, NamedSizes) else {}
    if name in SYMBOLS and (name not in names or SYMBOLS[name] in own):
        return SYMBOLS[name]
    known = {str(size): size for size in sorted(own, key=lambda size: (letter(size).run, print_order(size)))}
    if name in known or name in names:
        return known[name] if name in known else names[name]
    if name in FORMER:
        return SYMBOLS[FORMER[name]]
    hint = suggested_letter(name)
    raise UnknownNameError("symbol", name, () if hint else known or SYMBOLS, hint)


def suggested_letter(name: str) -> str:
    """Return a question that suggests the letter of a config field or of a meaning, or "" if no letter fits.

    >>> suggested_letter("hidden_size"), suggested_letter("nonsense")
    ('did you mean E (hidden size)?', '')
    """
    found = " or ".join(f"{each.name} ({each.meaning})" for each in _called(name))
    return found and f"did you mean {found}?"


def _called(name: str) -> list[Letter]:
    """Return the letters for a config field or for the start of a meaning: ``hidden_size``, ``seq_len``."""
    stem = re.split(r"[\W_]", name.lower())[0]
    begins = [each for each in _TABLE if len(stem) > 2 and each.meaning.startswith(stem)]
    return [each for each in _TABLE if name in each.config] or begins[:1]


class NamedSizes(frozenset[Symbol]):
    """The sizes of a model, which can also be given by other names, such as the names of its config fields."""

    names: Mapping[str, Symbol]  # other name -> size

    def __new__(cls, sizes: Iterable[Symbol], names: Mapping[str, Symbol] | None = None) -> NamedSizes:
        """Return the set. Names of sizes that it does not contain are left out."""
        found = super().__new__(cls, sizes)
        found.names = FrozenDict({name: size for name, size in (names or {}).items() if size in found})
        return found

    @classmethod
    def joined(cls, sets: Iterable[Iterable[Symbol]]) -> NamedSizes:
        """Return the union of sets. A name that means different sizes in two of them is left out."""
        every = [each if isinstance(each, cls) else cls(each) for each in sets]
        names: dict[str, set[Symbol]] = {}
        for each in every:
            for name, size in each.names.items():
                names.setdefault(name, set()).add(size)
        clear = {name: size for name, (size, *others) in names.items() if not others}
        return cls(frozenset[Symbol]().union(*every), clear)

    def __or__(self, other: Iterable[Symbol]) -> NamedSizes:
        """Return the union of two sets of sizes, with the names of both."""
        return self.joined((self, other))


class NumberedSymbol(Symbol):  # type: ignore[misc]
    """The symbol of a numbered letter. It never equals a size of traced code that has the same name."""

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        """Return the key of a plain symbol, so that SymPy sorts both alike."""
        return Symbol.class_key()  # type: ignore[no-any-return]


def numbered(size: Symbol, number: int, taken: Collection[str] = ()) -> Symbol:
    r"""Return the letter with a number as its subscript, for one of several models that have a size with this letter.

    It is sorted next to the letter and cannot be looked up by name. If its name is in ``taken``, the names of the
    other sizes in the same answer, the number follows an m, for model.

    >>> numbered(E, 2), letter(numbered(L_enc, 1)).latex
    (E_2, 'L_{\\mathrm{enc,1}}')
    """
    mark = ""
    while (name := f"{size}_{mark}{number}") in taken:
        mark += "m"
    return NumberedSymbol(name, integer=True, positive=True)


def _unnumbered(size: Symbol) -> str:
    """Return the name without the number that ``numbered`` adds."""
    name = str(size.name)
    return name.rpartition("_")[0] if isinstance(size, NumberedSymbol) else name


# The form of a letter that is not in the table: config fields have such letters by rule (letter_rules.py).
_FORM = re.compile(r"[A-Z](_[a-z0-9]+)*")
LONGEST = 8  # letters and digits of such a name


@lru_cache(maxsize=4096)
def letter(size: Symbol) -> Letter:
    r"""Return the alphabet row of a symbol, or a row of its own for a size that is not in the alphabet.

    >>> letter(named_symbol("A_v_lin")).latex
    'A_{\\mathrm{v,lin}}'
    """
    name = _unnumbered(size)
    row = LETTERS.get(name) or _own_row(name)
    return replace(row, name=size.name, config=()) if isinstance(size, NumberedSymbol) else row


def _own_row(name: str) -> Letter:
    """Return the row of a size that is not in the alphabet: its letter has the unit of the same letter there."""
    short = _FORM.fullmatch(name) is not None and len(name) - name.count("_") <= LONGEST
    unit = LETTERS["L"].unit if short and name[0] == "L" else ""
    return Letter(name, "a size of the model's code", unit, (name,), word=not short)


@lru_cache(maxsize=4096)
def print_order(size: Symbol) -> tuple[int, str]:
    """Return the place of a size in printing order: as in the table, letters outside it last among the same letter.

    Sizes without a letter are last, by name.
    """
    name = _unnumbered(size)
    if name in LETTERS:
        return _RANKS[name], str(size.name) if size.name not in LETTERS else ""
    return (len(_TABLE) if letter(size).word else _LAST.get(name[0], len(_TABLE) - 1)), str(size.name)


def is_size(expr: object) -> bool:
    """Return whether an expression is a symbol of this alphabet, with its assumptions.

    >>> is_size(E), is_size(Symbol("E"))
    (True, False)
    """
    return isinstance(expr, NumberedSymbol) or (isinstance(expr, Symbol) and expr == named_symbol(expr.name))


def named_symbol(name: str) -> Symbol:
    """Return the symbol with a known name, such as a column of a table, without looking it up."""
    return SYMBOLS.get(name) or Symbol(name, integer=True, positive=True)


def name_size(field: str) -> Symbol:
    r"""Return the symbol of a config field: its letter if it has one, or else its own name.

    A name that is the letter of a quantity gets the suffix ``_size``.

    Raises
    ------
    UnknownNameError
        If the field cannot be a name, or is already the name of a letter.

    Examples
    --------
    >>> name_size("hidden_size"), name_size("mamba_d_state"), name_size("N")
    (E, mamba_d_state, N_size)
    >>> letter(name_size("mamba_d_state")).latex
    '\\mathrm{mamba\\_d\\_state}'

    """
    if field in _FIELDS:
        return SYMBOLS[_FIELDS[field]]
    name = re.sub(r"[.\[]", "_", field).removesuffix("]")
    name += "_size" * (name in MEASURES)
    if name in LETTERS or not name.isidentifier() or not name.isascii():
        raise UnknownNameError("symbol", name, SYMBOLS)
    return named_symbol(name)
