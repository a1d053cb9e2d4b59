"""Components, one per file. The file name with hyphens is the name of the component: ``component:gated-mlp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..language.errors import TargetError
from ..language.registry import Registry
from ..language.sizes import format_value
from .base import Component as Component

if TYPE_CHECKING:  # __getattr__ imports each on first use
    from .adaptive_block import AdaptiveBlock as AdaptiveBlock
    from .alibi import ALiBi as ALiBi
    from .alt_up_block import AltUpBlock as AltUpBlock
    from .attention_pooling import AttentionPooling as AttentionPooling
    from .bottleneck_adapter import BottleneckAdapter as BottleneckAdapter
    from .channel_mixing import ChannelMixing as ChannelMixing
    from .chunked_scan import ChunkedScan as ChunkedScan
    from .compressed_attention import CompressedAttention as CompressedAttention
    from .compressed_indexer import CompressedIndexer as CompressedIndexer
    from .conditioning import Conditioning as Conditioning
    from .convolutional_positions import ConvolutionalPositions as ConvolutionalPositions
    from .cross_attention import CrossAttention as CrossAttention
    from .decoder_block import DecoderBlock as DecoderBlock
    from .deepstack_block import DeepstackBlock as DeepstackBlock
    from .disentangled_attention import DisentangledAttention as DisentangledAttention
    from .distance_embedding import DistanceEmbedding as DistanceEmbedding
    from .dropout import Dropout as Dropout
    from .expert_sandwich_block import ExpertSandwichBlock as ExpertSandwichBlock
    from .gated_delta_net import GatedDeltaNet as GatedDeltaNet
    from .gated_mlp import GatedMLP as GatedMLP
    from .gaussian_top_k import GaussianTopK as GaussianTopK
    from .group_norm import GroupNorm as GroupNorm
    from .head_norm import HeadNorm as HeadNorm
    from .head_transform import HeadTransform as HeadTransform
    from .hyper_connected_block import HyperConnectedBlock as HyperConnectedBlock
    from .hyper_connection import HyperConnection as HyperConnection
    from .hyper_head import HyperHead as HyperHead
    from .identity import Identity as Identity
    from .image_attention import ImageAttention as ImageAttention
    from .image_encoder import ImageEncoder as ImageEncoder
    from .image_features import ImageFeatures as ImageFeatures
    from .image_neck import ImageNeck as ImageNeck
    from .joint_attention import JointAttention as JointAttention
    from .joint_block import JointBlock as JointBlock
    from .kimi_delta_attention import KimiDeltaAttention as KimiDeltaAttention
    from .latent_attention import LatentAttention as LatentAttention
    from .laurel import Laurel as Laurel
    from .laurel_block import LaurelBlock as LaurelBlock
    from .layer_adapter import LayerAdapter as LayerAdapter
    from .layer_norm import LayerNorm as LayerNorm
    from .layer_scale import LayerScale as LayerScale
    from .layer_scale_block import LayerScaleBlock as LayerScaleBlock
    from .lightning_indexer import LightningIndexer as LightningIndexer
    from .linear import Linear as Linear
    from .linear_projector import LinearProjector as LinearProjector
    from .lm_head import LMHead as LMHead
    from .low_rank_update import LowRankUpdate as LowRankUpdate
    from .masked_lm_head import MaskedLMHead as MaskedLMHead
    from .mlp import MLP as MLP
    from .moe import MoE as MoE
    from .native_resolution_encoder import NativeResolutionEncoder as NativeResolutionEncoder
    from .parallel_block import ParallelBlock as ParallelBlock
    from .parallel_sum import ParallelSum as ParallelSum
    from .patch_embedding import PatchEmbedding as PatchEmbedding
    from .patch_features import PatchFeatures as PatchFeatures
    from .patch_merger import PatchMerger as PatchMerger
    from .per_layer_embedding import PerLayerEmbedding as PerLayerEmbedding
    from .per_layer_input import PerLayerInput as PerLayerInput
    from .pooled_image_encoder import PooledImageEncoder as PooledImageEncoder
    from .pooler import Pooler as Pooler
    from .pooling_projector import PoolingProjector as PoolingProjector
    from .position_embedding import PositionEmbedding as PositionEmbedding
    from .post_norm_block import PostNormBlock as PostNormBlock
    from .pre_norm_block import PreNormBlock as PreNormBlock
    from .projector import Projector as Projector
    from .query_attention import QueryAttention as QueryAttention
    from .recurrent_block import RecurrentBlock as RecurrentBlock
    from .relative_attention import RelativeAttention as RelativeAttention
    from .relative_bias import RelativeBias as RelativeBias
    from .res_post_norm_block import ResPostNormBlock as ResPostNormBlock
    from .rms_norm import RMSNorm as RMSNorm
    from .rotary_positions import RotaryPositions as RotaryPositions
    from .sandwich_block import SandwichBlock as SandwichBlock
    from .segment_embedding import SegmentEmbedding as SegmentEmbedding
    from .selective_scan import SelectiveScan as SelectiveScan
    from .self_attention import SelfAttention as SelfAttention
    from .shared_transformer_block import SharedTransformerBlock as SharedTransformerBlock
    from .shared_transformer_layer import SharedTransformerLayer as SharedTransformerLayer
    from .short_convolution import ShortConvolution as ShortConvolution
    from .single_stream_block import SingleStreamBlock as SingleStreamBlock
    from .sinusoidal_positions import SinusoidalPositions as SinusoidalPositions
    from .stream_projection import StreamProjection as StreamProjection
    from .text_conditioning import TextConditioning as TextConditioning
    from .text_encoder import TextEncoder as TextEncoder
    from .time_mixing import TimeMixing as TimeMixing
    from .token_compressor import TokenCompressor as TokenCompressor
    from .token_embedding import TokenEmbedding as TokenEmbedding
    from .wave_encoder import WaveEncoder as WaveEncoder
    from .xielu import XIELU as XIELU

registry: Registry[Component] = Registry(__name__, Component)  # type: ignore[type-abstract]


def names() -> list[str]:
    """Return the names of all built-in components."""
    return registry.names


def all_names() -> list[str]:
    """Return the names of all components, those that other packages register last."""
    return registry.all_names


def component_class(name: str) -> type[Component]:
    """Return the class of a component by name. Raises UnknownNameError."""
    return registry.load(name)


def component(name: str, /, **options: Any) -> Component:
    """Return a component with its default sizes.

    Parameters
    ----------
    name
        The name of the component, such as ``"gated-mlp"``.
    **options
        Its options: the fields of the class of type ``bool`` or ``Literal``.

    Returns
    -------
    Component
        The component, whose ``params`` and ``formula`` are functions of its sizes.

    Raises
    ------
    TargetError
        If the name is not a string.
    UnknownNameError, OptionError
        If the component or an option is unknown, or an option does not have that value.

    Examples
    --------
    >>> component("mlp", bias=False).params
    2*E*H

    """
    if not isinstance(name, str):
        raise TargetError(f"{format_value(name)} is not the name of a component")
    found = component_class(name)
    return found(**found.options_from(options))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[Component]:
        """Return a component by the name of its class: ``from ..components import LayerNorm, MLP``."""
        for called in registry.names:
            if called.replace("-", "") == name.lower() and (found := component_class(called)).__name__ == name:
                return found
        raise AttributeError(f"there is no component {name}")
