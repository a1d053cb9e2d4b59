"""Factories of third-party models, one per family, with all their sizes.

Each factory is a function of sizes that are all different, with a function for its inputs. The families of one library
differ in structure: stacks, convolutions, token mixers and windows are traced in different ways. ``python -m
tests.factories [NAME...]`` traces those whose libraries are installed, and stores the results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from symformer.language.errors import SymformerError
from symformer.witness import trace
from symformer.witness.trace_result import Trace

FILE = Path(__file__).with_name("factories.json")
LIBRARIES = {"torch": "torch", "torchvision": "torchvision", "timm": "timm", "open_clip": "open_clip_torch"}
LIBRARIES |= {"litgpt": "litgpt", "x_transformers": "x-transformers", "diffusers": "diffusers"}
STRIDE = 32  # the reduction of the image by the stem and the stages


@dataclass(frozen=True)
class Family:
    """A factory of a library, the initial values of its sizes, and the inputs of its models."""

    library: str
    build: Callable[..., nn.Module]
    starts: str
    inputs: Callable[..., Any]

    @property
    def sizes(self) -> dict[str, int]:
        """Return the initial value of every size."""
        return {name: int(number) for name, _, number in (each.partition("=") for each in self.starts.split())}


def made(model: Any) -> nn.Module:
    """Return the result of a library without type annotations as a module."""
    assert isinstance(model, nn.Module)
    return model


def sequences(B: int, S: int, E: int) -> torch.Tensor:
    return torch.empty(S, B, E)


def tokens(B: int, S: int) -> torch.Tensor:
    return torch.zeros(B, S, dtype=torch.long)


def patches(B: int, S: int) -> torch.Tensor:
    """Return images of S by S patches."""
    return torch.empty(B, 3, STRIDE * S, STRIDE * S)


def squares(B: int, n: int, patch: int) -> torch.Tensor:
    """Return images of n by n patches."""
    return torch.empty(B, 3, n * patch, n * patch)


def cut(B: int, n: int) -> torch.Tensor:
    """Return images of n by n patches of 16 by 16 pixels."""
    return torch.empty(B, 3, 16 * n, 16 * n)


# torch


def lstm(E: int, H: int, L: int) -> nn.Module:
    return nn.LSTM(E, H, L)


def gru(E: int, H: int, L: int) -> nn.Module:
    return nn.GRU(E, H, L, bidirectional=True)


def projected_lstm(E: int, H: int, L: int, R: int) -> nn.Module:
    return nn.LSTM(E, H, L, proj_size=R, bidirectional=True)


def multihead(E: int, A: int, E_k: int, E_v: int) -> nn.Module:
    return nn.MultiheadAttention(E, A, kdim=E_k, vdim=E_v)


def crossed(B: int, S: int, S_enc: int, E: int, E_k: int, E_v: int) -> tuple[torch.Tensor, ...]:
    return torch.empty(S, B, E), torch.empty(S_enc, B, E_k), torch.empty(S_enc, B, E_v)


def encoder(E: int, A: int, H: int, L: int) -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(E, A, H), L)


def transformer(E: int, A: int, H: int, L_enc: int, L_dec: int) -> nn.Module:
    return nn.Transformer(E, A, L_enc, L_dec, H)


def both(B: int, S: int, S_enc: int, E: int) -> tuple[torch.Tensor, ...]:
    return torch.empty(S_enc, B, E), torch.empty(S, B, E)


# torchvision


def vit(E: int, A: int, H: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from torchvision.models import VisionTransformer

    return made(VisionTransformer(n * patch, patch, L, A, E, H, num_classes=classes))


def swin(E: int, A: int, L_1: int, L_2: int, window: int, patch: int, classes: int) -> nn.Module:
    from torchvision.models import SwinTransformer

    sides = {"patch_size": [patch, patch], "window_size": [window, window]}
    return made(SwinTransformer(embed_dim=E, depths=[L_1, L_2], num_heads=[A, 2 * A], num_classes=classes, **sides))


def windows(B: int, S: int, window: int, patch: int) -> torch.Tensor:
    side = 2 * S * window * patch
    return torch.empty(B, 3, side, side)


def convnext(E: int, E_2: int, L_1: int, L_2: int, classes: int) -> nn.Module:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return made(ConvNeXt([CNBlockConfig(E, E_2, L_1), CNBlockConfig(E_2, None, L_2)], num_classes=classes))


def resnet(W: int, G: int, L_1: int, L_2: int, L_3: int, L_4: int, classes: int) -> nn.Module:
    from torchvision.models.resnet import Bottleneck, ResNet

    return made(ResNet(Bottleneck, [L_1, L_2, L_3, L_4], classes, groups=G, width_per_group=W))


def densenet(growth: int, E: int, factor: int, L_1: int, L_2: int, classes: int) -> nn.Module:
    from torchvision.models import DenseNet

    return made(DenseNet(growth, (L_1, L_2), E, factor, num_classes=classes))


def mobilenet(t: int, c: int, L: int, classes: int) -> nn.Module:
    from torchvision.models import MobileNetV2

    return made(MobileNetV2(classes, inverted_residual_setting=[[1, 16, 1, 1], [t, c, L, 2]]))


def shufflenet(
    E_0: int, E_1: int, E_2: int, E_3: int, E_4: int, L_1: int, L_2: int, L_3: int, classes: int
) -> nn.Module:
    from torchvision.models import ShuffleNetV2

    return made(ShuffleNetV2([L_1, L_2, L_3], [E_0, E_1, E_2, E_3, E_4], num_classes=classes))


def efficientnet(t: int, kernel: int, E_1: int, E_2: int, L: int, classes: int) -> nn.Module:
    from torchvision.models.efficientnet import EfficientNet, MBConvConfig

    stages = [MBConvConfig(1, 3, 1, 32, E_1, 1), MBConvConfig(t, kernel, 2, E_1, E_2, L)]
    return made(EfficientNet(stages, 0.2, num_classes=classes))


def maxvit(E_0: int, E_1: int, E_2: int, D: int, L_1: int, L_2: int, window: int, classes: int) -> nn.Module:
    from torchvision.models import MaxVit

    blocks = {"block_channels": [E_1, E_2], "block_layers": [L_1, L_2], "head_dim": D}
    side = 16 * window
    return made(MaxVit((side, side), E_0, window, stochastic_depth_prob=0.2, num_classes=classes, **blocks))


def reduced(B: int, S: int, ratio: int) -> torch.Tensor:
    """Return images whose first feature map consists of whole windows."""
    return torch.empty(B, 3, 8 * ratio * S, 8 * ratio * S)


def partitions(B: int, window: int) -> torch.Tensor:
    return torch.empty(B, 3, 16 * window, 16 * window)


def vgg(E_1: int, E_2: int, classes: int) -> nn.Module:
    from torchvision.models.vgg import VGG, make_layers

    return made(VGG(make_layers([E_1, "M", E_2, E_2, "M", 512]), classes, init_weights=False))


# timm


def mixer(E: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from timm.models.mlp_mixer import MlpMixer

    return made(MlpMixer(classes, n * patch, patch_size=patch, num_blocks=L, embed_dim=E))


def gmlp(E: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from timm.layers import GatedMlp
    from timm.models.mlp_mixer import MlpMixer, SpatialGatingBlock

    gated = {"block_layer": SpatialGatingBlock, "mlp_layer": GatedMlp, "mlp_ratio": 6}
    return made(MlpMixer(classes, n * patch, patch_size=patch, num_blocks=L, embed_dim=E, **gated))


def timm_vit(E: int, A: int, L: int, n: int, patch: int, registers: int, classes: int) -> nn.Module:
    from timm.models.vision_transformer import VisionTransformer

    sizes = {"embed_dim": E, "num_heads": A, "depth": L, "reg_tokens": registers, "num_classes": classes}
    return made(VisionTransformer(n * patch, patch, **sizes))


def timm_swin(E: int, A: int, L_1: int, L_2: int, window: int, patch: int, n: int, classes: int) -> nn.Module:
    from timm.models.swin_transformer import SwinTransformer

    sizes = {
        "embed_dim": E,
        "depths": (L_1, L_2),
        "num_heads": (A, 2 * A),
        "window_size": window,
        "num_classes": classes,
    }
    return made(SwinTransformer(2 * n * window * patch, patch, **sizes))


def shifted(B: int, n: int, window: int, patch: int) -> torch.Tensor:
    side = 2 * n * window * patch
    return torch.empty(B, 3, side, side)


def timm_convnext(E_1: int, E_2: int, L_1: int, L_2: int, kernel: int, classes: int) -> nn.Module:
    from timm.models.convnext import ConvNeXt

    stages = {"depths": (L_1, L_2, 3, 2), "dims": (E_1, E_2, 64, 80)}
    return made(ConvNeXt(num_classes=classes, kernel_sizes=2 * kernel + 1, **stages))


def poolformer(E_1: int, E_2: int, L_1: int, L_2: int, classes: int) -> nn.Module:
    from timm.models.metaformer import MetaFormer

    return made(MetaFormer(num_classes=classes, depths=(L_1, L_2), dims=(E_1, E_2), use_mlp_head=False))


def pvt(D: int, A_1: int, A_2: int, L_1: int, L_2: int, ratio: int, classes: int) -> nn.Module:
    from timm.models.pvt_v2 import PyramidVisionTransformerV2

    heads = {"num_heads": (A_1, A_2), "embed_dims": (D * A_1, D * A_2), "sr_ratios": (ratio, 1), "mlp_ratios": (4, 4)}
    return made(PyramidVisionTransformerV2(num_classes=classes, depths=(L_1, L_2), **heads))


def cait(E: int, A: int, L: int, L_class: int, n: int, patch: int, classes: int) -> nn.Module:
    from timm.models.cait import Cait

    sizes = {"embed_dim": E, "num_heads": A, "depth": L, "depth_token_only": L_class, "num_classes": classes}
    return made(Cait(n * patch, patch, **sizes))


def xcit(E: int, A: int, L: int, L_class: int, n: int, classes: int) -> nn.Module:
    from timm.models.xcit import Xcit

    sizes = {"embed_dim": E, "num_heads": A, "depth": L, "cls_attn_layers": L_class, "num_classes": classes}
    return made(Xcit(n * 16, 16, **sizes))


def beit(E: int, A: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from timm.models.beit import Beit

    sizes = {
        "embed_dim": E,
        "num_heads": A,
        "depth": L,
        "num_classes": classes,
        "use_rel_pos_bias": True,
        "init_values": 0.1,
    }
    return made(Beit(n * patch, patch, **sizes))


def convmixer(E: int, L: int, kernel: int, patch: int, classes: int) -> nn.Module:
    from timm.models.convmixer import ConvMixer

    return made(ConvMixer(E, L, kernel, patch, num_classes=classes))


def whole_patches(B: int, S: int, patch: int) -> torch.Tensor:
    return torch.empty(B, 3, S * patch, S * patch)


def eva(E: int, A: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from timm.models.eva import Eva

    sizes = {"embed_dim": E, "num_heads": A, "depth": L, "num_classes": classes, "swiglu_mlp": True}
    return made(Eva(n * patch, patch, **sizes))


def tnt(E: int, E_in: int, A: int, A_in: int, L: int, n: int, classes: int) -> nn.Module:
    from timm.models.tnt import TNT

    sizes = {
        "embed_dim": E,
        "inner_dim": E_in,
        "num_heads_outer": A,
        "num_heads_inner": A_in,
        "depth": L,
        "num_classes": classes,
    }
    return made(TNT(n * 16, 16, **sizes))


def focalnet(E: int, L_1: int, L_2: int, levels: int, window: int, classes: int) -> nn.Module:
    from timm.models.focalnet import FocalNet

    focal = {"focal_levels": (levels, levels), "focal_windows": (window, window)}
    return made(FocalNet(num_classes=classes, embed_dim=E, depths=(L_1, L_2), **focal))


def edgenext(E_1: int, E_2: int, A: int, L_1: int, L_2: int, classes: int) -> nn.Module:
    from timm.models.edgenext import EdgeNeXt

    stages = {"dims": (E_1, E_2, 88, 168), "depths": (L_1, L_2, 3, 3), "heads": (A, A, 8, 8)}
    return made(EdgeNeXt(num_classes=classes, **stages))


# open_clip


def clip(
    E: int, V: int, P: int, E_text: int, A: int, L_text: int, D: int, L_image: int, A_image: int, n: int, patch: int
) -> nn.Module:
    from open_clip.model import CLIP

    text = {"context_length": P, "vocab_size": V, "width": E_text, "heads": A, "layers": L_text}
    image = {"layers": L_image, "width": D * A_image, "head_width": D, "patch_size": patch, "image_size": n * patch}
    return made(CLIP(E, image, text))


def pairs(B: int, P: int, n: int, patch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(B, 3, n * patch, n * patch), torch.zeros(B, P, dtype=torch.long)


def coca(
    E: int, V: int, P: int, A: int, L_text: int, L_dec: int, D: int, L_image: int, n: int, patch: int
) -> nn.Module:
    from open_clip import CoCa

    text = {
        "context_length": P,
        "vocab_size": V,
        "width": E,
        "heads": A,
        "layers": L_text,
        "embed_cls": True,
        "output_tokens": True,
    }
    joint = {"context_length": P, "vocab_size": V, "width": E, "heads": A, "layers": L_dec, "dim_head": D}
    image = {"layers": L_image, "width": D * A, "head_width": D, "patch_size": patch, "image_size": n * patch}
    more = {"attentional_pool": True, "attn_pooler_heads": A, "output_tokens": True}
    return made(CoCa(E, joint, {**text, "output_tokens": True}, {**image, **more}))


# litgpt


def litgpt_llama(V: int, E: int, A: int, G: int, H: int, L: int, D: int) -> nn.Module:
    return _litgpt(
        V, E, A, L, n_query_groups=G, head_size=D, intermediate_size=H, mlp_class_name="LLaMAMLP", bias=False
    )


def litgpt_neox(V: int, E: int, A: int, L: int) -> nn.Module:
    return _litgpt(V, E, A, L)


def litgpt_moe(V: int, E: int, A: int, M: int, X: int, K: int, L: int) -> nn.Module:
    experts = {"n_expert": X, "n_expert_per_token": K, "moe_intermediate_size": M, "mlp_class_name": "LLaMAMoE"}
    return _litgpt(V, E, A, L, intermediate_size=M, bias=False, **experts)


def _litgpt(V: int, E: int, A: int, L: int, **more: Any) -> nn.Module:
    from litgpt import GPT, Config

    return made(GPT(Config(padded_vocab_size=V, n_embd=E, n_head=A, n_layer=L, block_size=4096, **more)))


# x-transformers


def x_decoder(V: int, P: int, E: int, A: int, D: int, L: int) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=E, depth=L, heads=A, attn_dim_head=D, ff_glu=True)
    return made(TransformerWrapper(num_tokens=V, max_seq_len=P, attn_layers=layers))


def x_encoder_decoder(V: int, V_2: int, E: int, A: int, A_2: int, L_enc: int, L_dec: int, P: int) -> nn.Module:
    from x_transformers import XTransformer

    encoder = {"enc_num_tokens": V, "enc_depth": L_enc, "enc_heads": A, "enc_max_seq_len": P}
    decoder = {"dec_num_tokens": V_2, "dec_depth": L_dec, "dec_heads": A_2, "dec_max_seq_len": P}
    return made(XTransformer(dim=E, **encoder, **decoder))


def x_tokens(B: int, S: int, S_enc: int) -> tuple[torch.Tensor, torch.Tensor]:
    return tokens(B, S_enc), tokens(B, S)


def x_vit(E: int, A: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from x_transformers import Encoder, ViTransformerWrapper

    layers = Encoder(dim=E, depth=L, heads=A)
    return made(ViTransformerWrapper(image_size=n * patch, patch_size=patch, num_classes=classes, attn_layers=layers))


# diffusers


def dit(A: int, D: int, L: int, n: int, patch: int, classes: int) -> nn.Module:
    from diffusers import DiTTransformer2DModel

    sizes = {"num_layers": L, "sample_size": n * patch, "patch_size": patch, "num_embeds_ada_norm": classes}
    return made(DiTTransformer2DModel(A, D, 4, **sizes))


def noisy(B: int, n: int, patch: int) -> tuple[Any, ...]:
    latent = torch.empty(B, 4, n * patch, n * patch)
    return latent, torch.zeros(B, dtype=torch.long), torch.zeros(B, dtype=torch.long)


def pixart(A: int, D: int, L: int, E_text: int, n: int, patch: int) -> nn.Module:
    from diffusers import PixArtTransformer2DModel

    sizes = {"num_layers": L, "sample_size": n * patch, "patch_size": patch, "cross_attention_dim": A * D}
    return made(PixArtTransformer2DModel(A, D, caption_channels=E_text, **sizes))


def captioned(B: int, S: int, E_text: int, n: int, patch: int) -> tuple[Any, ...]:
    return torch.empty(B, 4, n * patch, n * patch), torch.empty(B, S, E_text), torch.zeros(B, dtype=torch.long)


def autoencoder(E_1: int, E_2: int, L: int, channels: int) -> nn.Module:
    from diffusers import AutoencoderKL

    blocks = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
    widths = {
        "block_out_channels": (E_1, E_2),
        "layers_per_block": L,
        "latent_channels": channels,
        "norm_num_groups": 4,
    }
    return made(AutoencoderKL(**blocks, **widths))


FAMILIES: dict[str, Family] = {
    "LSTM": Family("torch", lstm, "E=24 H=10 L=3", sequences),
    "bidirectional GRU": Family("torch", gru, "E=24 H=10 L=3", sequences),
    "LSTM with projections": Family("torch", projected_lstm, "E=24 H=10 L=3 R=6", sequences),
    "MultiheadAttention": Family("torch", multihead, "E=24 A=3 E_k=10 E_v=14", crossed),
    "TransformerEncoder": Family("torch", encoder, "E=24 A=3 H=11 L=2", sequences),
    "Transformer": Family("torch", transformer, "E=24 A=3 H=11 L_enc=2 L_dec=5", both),
    "ViT": Family("torchvision", vit, "E=24 A=3 H=11 L=2 n=5 patch=4 classes=13", squares),
    "Swin": Family("torchvision", swin, "E=24 A=3 L_1=2 L_2=4 window=5 patch=7 classes=13", windows),
    "ConvNeXt": Family("torchvision", convnext, "E=24 E_2=40 L_1=2 L_2=3 classes=13", patches),
    "ResNet": Family("torchvision", resnet, "W=64 G=2 L_1=3 L_2=4 L_3=6 L_4=5 classes=13", patches),
    "DenseNet": Family("torchvision", densenet, "growth=12 E=24 factor=4 L_1=3 L_2=5 classes=13", patches),
    "MobileNetV2": Family("torchvision", mobilenet, "t=6 c=24 L=2 classes=13", patches),
    "ShuffleNetV2": Family(
        "torchvision",
        shufflenet,
        "E_0=24 E_1=116 E_2=232 E_3=464 E_4=1024 L_1=4 L_2=8 L_3=5 classes=13",
        patches,
    ),
    "EfficientNet": Family("torchvision", efficientnet, "t=6 kernel=5 E_1=16 E_2=24 L=2 classes=13", patches),
    "MaxViT": Family(
        "torchvision",
        maxvit,
        "E_0=32 E_1=64 E_2=128 D=16 L_1=2 L_2=3 window=5 classes=13",
        partitions,
    ),
    "VGG": Family("torchvision", vgg, "E_1=64 E_2=128 classes=13", patches),
    "MLP-Mixer": Family("timm", mixer, "E=48 L=2 n=5 patch=4 classes=13", squares),
    "gMLP": Family("timm", gmlp, "E=48 L=2 n=5 patch=4 classes=13", squares),
    "ViT with registers": Family("timm", timm_vit, "E=48 A=3 L=2 n=5 patch=4 registers=6 classes=13", squares),
    "Swin of timm": Family(
        "timm",
        timm_swin,
        "E=48 A=3 L_1=2 L_2=4 window=5 patch=7 n=6 classes=13",
        shifted,
    ),
    "ConvNeXt of timm": Family("timm", timm_convnext, "E_1=24 E_2=40 L_1=2 L_2=5 kernel=3 classes=13", patches),
    "PoolFormer": Family("timm", poolformer, "E_1=24 E_2=40 L_1=2 L_2=5 classes=13", patches),
    "PVT v2": Family("timm", pvt, "D=8 A_1=3 A_2=5 L_1=2 L_2=4 ratio=6 classes=13", reduced),
    "CaiT": Family("timm", cait, "E=48 A=3 L=2 L_class=5 n=6 patch=4 classes=13", squares),
    "XCiT": Family("timm", xcit, "E=48 A=3 L=2 L_class=5 n=6 classes=13", cut),
    "BEiT": Family("timm", beit, "E=48 A=3 L=2 n=5 patch=4 classes=13", squares),
    "ConvMixer": Family("timm", convmixer, "E=48 L=2 kernel=9 patch=7 classes=13", whole_patches),
    "EVA": Family("timm", eva, "E=48 A=3 L=2 n=5 patch=4 classes=13", squares),
    "TNT": Family("timm", tnt, "E=48 E_in=24 A=3 A_in=4 L=2 n=6 classes=13", cut),
    "FocalNet": Family("timm", focalnet, "E=48 L_1=2 L_2=4 levels=3 window=5 classes=13", patches),
    "EdgeNeXt": Family("timm", edgenext, "E_1=24 E_2=40 A=4 L_1=2 L_2=3 classes=13", patches),
    "CLIP": Family(
        "open_clip",
        clip,
        "E=48 V=101 P=17 E_text=30 A=5 L_text=2 D=8 L_image=4 A_image=3 n=6 patch=7",
        pairs,
    ),
    "CoCa": Family(
        "open_clip",
        coca,
        "E=40 V=101 P=17 A=4 L_text=2 L_dec=5 D=12 L_image=3 n=6 patch=7",
        pairs,
    ),
    "Llama": Family("litgpt", litgpt_llama, "V=101 E=48 A=6 G=3 H=22 L=2 D=10", tokens),
    "GPT-NeoX": Family("litgpt", litgpt_neox, "V=101 E=48 A=3 L=2", tokens),
    "Mixtral": Family("litgpt", litgpt_moe, "V=101 E=48 A=3 M=22 X=5 K=2 L=4", tokens),
    "decoder": Family("x_transformers", x_decoder, "V=101 P=640 E=24 A=3 D=16 L=2", tokens),
    "encoder and decoder": Family(
        "x_transformers",
        x_encoder_decoder,
        "V=101 V_2=103 E=24 A=3 A_2=4 L_enc=2 L_dec=5 P=640",
        x_tokens,
    ),
    "ViT of x-transformers": Family("x_transformers", x_vit, "E=24 A=3 L=2 n=5 patch=4 classes=13", squares),
    "DiT": Family("diffusers", dit, "A=3 D=8 L=2 n=5 patch=4 classes=13", noisy),
    "PixArt": Family("diffusers", pixart, "A=3 D=8 L=2 E_text=22 n=5 patch=4", captioned),
    "autoencoder": Family("diffusers", autoencoder, "E_1=24 E_2=40 L=2 channels=6", patches),
}


@cache
def on_file() -> dict[str, Any]:
    """Return the whole file."""
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


@cache
def afresh(name: str) -> Trace:
    """Trace a family. Raises SymformerError if it has no formula."""
    family = FAMILIES[name]
    return trace(family.build, family.sizes, inputs=family.inputs)


def facts(name: str, quantity: str) -> dict[str, Any]:
    """Return the stored facts of a trace, or the reason why there is none."""
    try:
        found = afresh(name).for_quantity(quantity)
    except SymformerError as error:
        return {"refused": str(error)[:200]}
    return {
        "formula": found.model.formula(quantity).code(),
        "pinned": {each.name: each.value for each in found.pinned},
        "conditions": found.conditions,
    }


def remake(names: list[str]) -> None:
    """Trace the named families, or all, and store the results."""
    traces = dict(on_file()["families"]) if FILE.exists() else {}
    for name in names or FAMILIES:
        library = FAMILIES[name].library
        traces[name] = {"library": library, **{quantity: facts(name, quantity) for quantity in ("params", "flops")}}
        versions = {each: version(LIBRARIES[each]).partition("+")[0] for each in LIBRARIES}
        known = {each: traces[each] for each in FAMILIES if each in traces}
        FILE.write_text(json.dumps({"versions": versions, "families": known}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    remake(sys.argv[1:])
