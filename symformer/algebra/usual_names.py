"""Names that papers and code use for the sizes of a model, with their usual and their rarer readings."""

from __future__ import annotations

from functools import cache

# Names that papers and code use for the sizes, in addition to config fields and our own alphabet. Readings separated by
# a semicolon are all possible, the most usual first. A bar separates fallbacks: the first in the target counts.
_USUAL = """
d_model d_embd d_embed d_emb n_embed n_embd embed_dim emb_dim embedding_dim hidden_dim hidden model_dim dmodel width dim
nhidden hs d_m n_dim dim_model hidden_dimension hidden_units n_hidden: E
n_layer n_layers num_layers layers n_l N_layer N_layers nlayers nlayer depth l ell n_blocks num_blocks n_block
num_decoder_layers num_hidden_layers n_decoder_layers: L
n_head n_heads num_heads heads n_h n_q n_heads_q num_query_heads nheads nhead n_a N_heads a num_attention_heads
n_attention_heads attention_heads n_q_heads q_heads: A
n_kv n_kv_heads kv_heads num_kv_heads n_g n_groups kvheads n_heads_kv g num_key_value_groups num_query_groups
num_key_value_heads n_query_groups num_kv_groups: G | A
d_head d_h d_k head_dim head_size d_attn_head headdim key_size d_kv key dim_head dim_per_head d_qk d_qkv
hidden_size_per_head kv_channels size_per_head: D | D_nope | E/A
d_v value_size: D_v | D | E/A
d_attn: A*D | E
d_ff d_ffn d_mlp ffn ffw ffn_dim ffw_size ffn_hidden_size ffn_hidden d_hidden f F intermediate mlp mlp_dim ff_dim d_feed
ffn_hidden_dim intermediate_dim intermediate_size feed_forward_dim feedforward_dim dim_feedforward ff dff: H | M
d_inner: H | M | H_ssm
n_vocab vocab d_vocab num_vocab vocabulary N_vocab v vocab_size padded_vocab_size vocabulary_size: V
n_ctx ctx context n_positions n_pos context_length block_size context_len ctx_len n_tokens_ctx: S | C | P ; C | S | P
seq seq_len seq_length seqlen l_seq n_seq T s S sequence_length sequence_len slen sl max_target_length msl
seqlen_q enc_seq_len: S | C | P ; C | S | P
max_seq_len max_seq_length n_ctx_max positions max_position_embeddings max_len: P ; S | C
batch batch_size b bsz n_batch micro_batch_size bs mbs per_device_batch_size global_batch_size gbs micro_batch: B
n_experts num_experts N_experts experts n_e E_experts n_routed n_routed_experts num_local_experts: X
top_k n_active K_experts experts_per_token n_experts_per_tok k_experts moe_router_topk num_experts_per_tok topk: K
d_expert moe_dim d_moe moe_intermediate moe_ffn_hidden_size moe_intermediate_size: M
n_shared N_shared n_shared_experts: X_shared
d_c kv_lora d_latent kv_lora_rank d_ckv: R_kv
d_c' q_lora q_lora_rank d_cq: R_q
d_h^R d_rope d_r rope_dim qk_rope_head_dim: D_rope
d_nope d_n qk_nope_head_dim: D_nope
bytes bytes_per_element n_bytes bytes_per_param bytes_per_parameter dtype_bytes precision_in_bytes dtype_size
element_size bytes_per_value sizeof_dtype precision bytes_per_elem: W
tokens n_tokens num_tokens N_tokens n_tok train_tokens: N_tok | B*S
N_d N_dp n_dp dp dp_size data_parallel_size: N_dp
t tp n_tp N_t tp_size tensor_parallel_size tensor_model_parallel_size: N_tp ; S
n_pp pp N_p pp_size pipeline_parallel_size: N_pp
lora_rank rank r: R
h: E ; A
d: E ; D
e: E ; X
m: H ; M ; N_micro ; H_adapter
n_micro n_microbatches num_microbatches: N_micro
n_virt v_stages: N_virt
d_conv: K_conv
d_state n_state ssm_state_size: N_state
dt_rank: R_dt
tokens_per_second tokens_per_sec tps throughput: N_tps
n_gpus num_gpus gpu_num n_devices num_devices world_size n_chips: N_dev
peak_flops peak GPU_AVAILABLE_FLOPS theoretical_flops flops_promised: N_peak
n: S | C | P ; L ; X
k: K ; G ; D
p: P ; N_pp
c: C ; N_chan
q: A*D | E ; A ; D | E/A
w: W ; C_win
i: H ; L
Q: D | D_nope | E/A
"""
# Rarer readings of names that also have a usual one. Most are letters of our alphabet that other papers use for
# something else, such as D, the model width of the scaling book and the training tokens of Kaplan and Hoffmann.
_RARER = """
B: B*S
D: E ; B*S ; N_tok
E: X
H: E ; A ; D | E/A
K: G ; D | E/A
N: A ; N_dp
P: COUNT ; Z_patch ; N_pp
T: N_tok ; B*S
d: D | E/A
hidden hidden_dim d_hidden: H | M
f F d_ff d_ffn d_mlp ffn ffw ffn_dim ffw_size ffn_hidden_size ffn_hidden d_inner intermediate mlp: M ; H_ssm
n_ctx n_positions: S ; C
C: E
M: N_micro
E: E_emb
N D_inner: N_state
v V: N_virt
r R: R_dt
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names of the number of parameters.
PARAMETERS = _words(
    """
    N Psi Phi n_params num_params params N_params n_param N_total nparams num_parameters n_parameters parameters
    num_model_parameters total_params model_params parameter_count param_count model_size
    """
)
_ACTIVE = _words(
    """
    N_active N_act active_params n_active_params num_active_params active-params N_activated active_parameters
    num_active_parameters activated_params
    """
)
_NOT_EMBEDDINGS = _words(
    """
    N_non_embedding non_embedding_params non_embedding_parameters num_non_embed_params n_non_embedding_params
    non_embed_params N_nonembed N_ne
    """
)
# Names that state which parameters they count, with the keys of the counts, separated by bars.
COUNTED = {
    **dict.fromkeys(_ACTIVE, "active|active matrices|active matrices and head"),
    **dict.fromkeys(_NOT_EMBEDDINGS, "no embeddings|no embeddings, no head|matrices|matrices and head|no positions"),
}


def code_names() -> frozenset[str]:
    """Return every name of several letters, which program code prints as one identifier."""
    return frozenset(name for name in (*_table(_USUAL), *PARAMETERS, *COUNTED) if len(name) > 1)


def field_names() -> frozenset[str]:
    """Return the names of several words joined by underscores that are not a letter with a subscript."""
    return frozenset(name for name in code_names() if len(name.partition("_")[0]) > 1 and "_" in name)


def usual_readings(name: str) -> list[list[str]]:
    """Return the usual readings of a name: alternatives, each a list whose first size in the target counts.

    Names of several letters in capitals are read like those in small letters.

    >>> usual_readings("d_ff")
    [['H', 'M']]
    """
    known = _table(_USUAL)
    return known.get(name, known.get(name.lower(), []) if len(name) > 2 else [])


def rarer_readings(name: str) -> list[list[str]]:
    """Return the rarer readings of a name, in the same form.

    >>> rarer_readings("f")
    [['M'], ['H_ssm']]
    """
    return _table(_RARER).get(name, [])


@cache
def _table(entries: str) -> dict[str, list[list[str]]]:
    """Return the readings of each name; an entry is names over one or more lines, a colon and readings."""
    found: dict[str, list[list[str]]] = {}
    names: list[str] = []
    for line in entries.strip().splitlines():
        before, colon, ways = line.partition(":")
        names += before.split()
        if colon:
            several = [[each.strip() for each in way.split("|")] for way in ways.split(";")]
            for name in names:
                found.setdefault(name, []).extend(several)
            names = []
    return found
