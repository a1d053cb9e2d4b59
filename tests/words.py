"""Reference implementations of the words in computed lines, written after papers and classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import torch
from torch import Tensor, nn

Function = Callable[..., Tensor]
Chosen = tuple[Tensor, Tensor]  # the weights of the experts that a token is routed to, and their indices


def words(epsilon: float, **others: Function) -> dict[str, Function]:
    """Return the words that most classes share, with the epsilon of their norms."""
    return {
        "mean": lambda x: x.mean(-1, keepdim=True),
        "std": lambda x: (x.var(-1, keepdim=True, unbiased=False) + epsilon).sqrt(),
        "rms": lambda x: (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt(),
        "length": lambda x: x.pow(2).sum(-1, keepdim=True).sqrt(),
        "SiLU": nn.functional.silu,
        "ReLU": nn.functional.relu,
        "GELU": nn.functional.gelu,
        "GELU_tanh": lambda x: nn.functional.gelu(x, approximate="tanh"),
        "QuickGELU": lambda x: x * torch.sigmoid(1.702 * x),
        "tanh": torch.tanh,
        "σ": torch.sigmoid,
        "exp": torch.exp,
        "softplus": nn.functional.softplus,
        "xIELU": xielu,
        "select_first": lambda x: x[:, 0],
        "select_end": lambda x: x[:, -1],
        "select_query": lambda x: x[:, 0],
        "rest": lambda x: x[:, 1:],
        "previous": lambda x: torch.cat((0 * x[:, :1], x[:, :-1]), 1),
        "lerp": torch.lerp,
        "sum": lambda x: x.sum(-1, keepdim=True),
        "conv_patch": patched,
        "conv_channel": slid,
        "rotate": halves,
        **others,
    }


def pooled(side: int) -> Function:
    """Gemma Team 2025, section 2.1: the mean of each square of patches."""

    def mean(x: Tensor) -> Tensor:
        patches = x.transpose(1, 2).unflatten(2, (math.isqrt(x.shape[1]), -1))
        return nn.functional.avg_pool2d(patches, side).flatten(2).transpose(1, 2)

    return mean


def first_stream(x: Tensor) -> Tensor:
    return x[:, 0]


def other_streams(x: Tensor) -> Tensor:
    return x[:, 1:]


def joined_streams(x: Tensor, others: Tensor) -> Tensor:
    return torch.cat((x[:, None], others), 1)


def mixed_streams(x: Tensor, coefficients: Tensor) -> Tensor:
    """Baykal et al. 2023: each new stream is a sum of all streams, with coefficients for each token."""
    return torch.einsum("bnse,bson->bose", x, coefficients)


def mean_of_streams(x: Tensor) -> Tensor:
    return x.mean(1)


def magnitude(x: Tensor) -> Tensor:
    return x.pow(2).mean(-1, keepdim=True).sqrt()


def gaussian_top_k(x: Tensor, share: float = 0.8) -> Tensor:
    """You et al. 2025: a threshold that a normally distributed element exceeds with the probability 1 - share."""
    bound = NormalDist().inv_cdf(share)
    return (x - x.mean(-1, keepdim=True) - bound * x.std(-1, keepdim=True, unbiased=False)).relu()


def xielu(x: Tensor, above: Tensor, below: Tensor) -> Tensor:
    """Huang and Schlag 2024, with the factor 1/2 of x as in transformers' class."""
    softplus = nn.functional.softplus
    return torch.where(x > 0, softplus(above) * x**2, (0.5 + softplus(below)) * (x.exp() - 1 - x)) + x / 2


# -- images in squares of patches ------------------------------------------------------------------------------------


def in_squares(x: Tensor, merge: int) -> Tensor:
    """Return the patches [..., rows, columns] of an image, with the patches of each square next to each other."""
    squares = x.unflatten(-1, (-1, merge)).unflatten(-3, (-1, merge))
    return squares.transpose(-3, -2).flatten(-4)


def nearest_rows(side: int, table: int, merge: int) -> tuple[Tensor, Tensor]:
    """Return the four rows of a square table that are nearest to each patch, and their weights.

    The corners of the table belong to the corners of the image; between them, the interpolation is bilinear.
    """
    places = torch.arange(side, dtype=torch.float64) * (table - 1) / (side - 1)
    low = places.long().clamp(max=table - 2)
    ends = torch.stack((low, low + 1)), torch.stack((1 - (places - low), places - low))
    rows = ends[0][:, None, :, None] * table + ends[0][None, :, None, :]
    weights = ends[1][:, None, :, None] * ends[1][None, :, None, :]
    found = (in_squares(each.flatten(0, 1), merge).T for each in (rows, weights))
    return next(found), next(found)


def merged_words(side: int, table: int, merge: int) -> dict[str, Function]:
    """Bai et al. 2025, section 2: patches in squares, each of which becomes one token."""

    def patches(weight: Tensor, x: Tensor) -> Tensor:
        found = nn.functional.conv3d(x, weight, stride=weight.shape[2:])[:, :, 0]
        return in_squares(found, merge).transpose(1, 2)

    weights = nearest_rows(side, table, merge)[1][..., None]
    return {
        "conv_patch": patches,
        "interpolate": lambda rows: (weights * rows).sum(1),
        "merge": lambda x: x.unflatten(1, (-1, merge**2)).flatten(2),
    }


def merged_angles(side: int, merge: int, width: int) -> Tensor:
    """Return the angles of patches in squares: the frequencies of the row, then of the column, both twice."""
    rates = 1e4 ** (-4 * torch.arange(width // 4, dtype=torch.float64) / width)
    places = torch.arange(side, dtype=torch.float64)
    rows, columns = (
        in_squares(each, merge) for each in (places[:, None].expand(side, side), places.expand(side, side))
    )
    return torch.cat((rows[:, None] * rates, columns[:, None] * rates), -1).repeat(1, 2)


# -- positions -------------------------------------------------------------------------------------------------------


def angles(width: int, theta: float, length: int) -> Tensor:
    """Su et al. 2021, eq. 15: position times theta^(-2i/width), for each pair; here for both of its elements."""
    steps = theta ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.cat(2 * [torch.arange(length, dtype=torch.float64)[:, None] * steps], -1)


def interleaved(width: int, theta: float, heights: int, widths: int) -> Function:
    """Bai et al. 2025, section 2: pairs 1, 4, 7, ... turn by the height, pairs 2, 5, 8, ... by the width, as many of
    each as the config states, and the others by the time.
    """
    rates = theta ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)

    def turned(time: Tensor, height: Tensor, across: Tensor) -> Tensor:
        chosen = [time] * len(rates)
        for pair in range(len(rates)):
            if pair % 3 == 1 and pair // 3 < heights:
                chosen[pair] = height
            if pair % 3 == 2 and pair // 3 < widths:
                chosen[pair] = across
        return torch.stack(chosen, -1) * rates

    return turned


def halves(x: Tensor, turns: Tensor) -> Tensor:
    """Eq. 34, with pairs half a head apart; elements without an angle are unchanged.

    Each sequence can have its own angles, one for each pair.
    """
    if turns.dim() == 3:
        turns = turns.repeat(1, 1, 2)[:, None]
    turned, rest = x[..., : turns.shape[-1]], x[..., turns.shape[-1] :]
    one, other = turned.chunk(2, -1)
    return torch.cat((turned * turns.cos() + torch.cat((-other, one), -1) * turns.sin(), rest), -1)


def last_halves(x: Tensor, turns: Tensor) -> Tensor:
    """Eq. 34 for the last tokens, with the pairs of `halves`; the first tokens have no angles."""
    first = x.shape[-2] - turns.shape[-2]
    return torch.cat((x[..., :first, :], halves(x[..., first:, :], turns)), -2)


def image_angles(side: int, width: int, base: float) -> Tensor:
    """Return the angles of side² patches: the frequencies of the row, then of the column, both twice.

    Rows and columns are centers of patches in an image from -1 to 1, Siméoni et al. 2025, section 3.2.
    """
    rates = 2 * math.pi / base ** (4 * torch.arange(width // 4, dtype=torch.float64) / width)
    centers = 2 * (torch.arange(side, dtype=torch.float64) + 0.5) / side - 1
    rows, columns = centers.repeat_interleave(side), centers.repeat(side)
    return torch.cat((rows[:, None] * rates, columns[:, None] * rates), -1).repeat(1, 2)


def neighbours(x: Tensor, turns: Tensor) -> Tensor:
    """Eq. 34, with adjacent elements as pairs, as in the paper."""
    turned, rest = x[..., : turns.shape[-1]], x[..., turns.shape[-1] :]
    turns = turns[..., : turns.shape[-1] // 2].repeat_interleave(2, -1)
    swapped = torch.stack((-turned[..., 1::2], turned[..., ::2]), -1).flatten(-2)
    return torch.cat((turned * turns.cos() + swapped * turns.sin(), rest), -1)


def last_neighbours(x: Tensor, turns: Tensor) -> Tensor:
    """Eq. 34 for the last elements, with adjacent ones as pairs."""
    rest, turned = x[..., : -turns.shape[-1]], x[..., -turns.shape[-1] :]
    return torch.cat((rest, neighbours(turned, turns)), -1)


def last_neighbours_back(x: Tensor, turns: Tensor) -> Tensor:
    return last_neighbours(x, -turns)


def slopes(heads: int, length: int) -> Tensor:
    """Press et al. 2022, section 3: a geometric sequence of slopes, each times the position of the key."""
    near = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (n + 1) / near) for n in range(near)]
    more = [2 ** (-4 * (2 * n + 1) / near) for n in range(heads - near)]
    slope = torch.tensor(first + more, dtype=torch.float64)
    return slope[None, :, None, None] * torch.arange(length, dtype=torch.float64)


def sines(places: Tensor, width: int) -> Tensor:
    """Vaswani et al. 2017, section 3.5: sines in the even columns, cosines in the odd ones."""
    rates = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    turns = places[:, None] * rates
    return torch.stack((turns.sin(), turns.cos()), -1).flatten(1)[:, :width]


def sine_halves(places: Tensor, width: int) -> Tensor:
    """tensor2tensor: all sines, then all cosines, with rates from 1 down to 1/10,000."""
    half = width // 2
    turns = places[:, None] * 10_000.0 ** (-torch.arange(half, dtype=torch.float64) / (half - 1))
    return torch.cat((turns.sin(), turns.cos()), -1)


def shift(scores: Tensor) -> Tensor:
    """Dai et al. 2019, appendix B: from columns for distances, S - 1 to 0, to columns for keys."""
    found = torch.zeros_like(scores)
    last = scores.shape[-1] - 1
    for query in range(scores.shape[-2]):
        for key in range(query + 1):
            found[..., query, key] = scores[..., query, last - (query - key)]
    return found


def bucket(distance: int, buckets: int, both: bool, far: int = 128) -> int:
    """Raffel et al. 2020, section 2.1: short distances have a row each, long ones share rows logarithmically."""
    first = 0
    if both:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    near = buckets // 2
    if distance < near:
        return first + distance
    return first + min(buckets - 1, near + int(math.log(distance / near) / math.log(far / near) * (buckets - near)))


def distances(length: int, buckets: int, both: bool) -> Tensor:
    """Return for each query and key the row of their distance."""
    return torch.tensor([[bucket(key - query, buckets, both) for key in range(length)] for query in range(length)])


def gathered(length: int, buckets: int, farthest: int, by: str) -> Function:
    """Return the selection of the column of the distance of each query and key, He et al. 2021, eqs. 3 and 4.

    Distances up to half of the buckets have a column each; longer ones share columns logarithmically, up to
    ``farthest``.
    """
    near = buckets // 2

    def bucket(distance: int) -> int:
        if abs(distance) <= near:
            return distance
        part = math.log(abs(distance) / near) / math.log((farthest - 1) / near)
        return int(math.copysign(math.ceil(part * (near - 1)) + near, distance))

    columns = torch.tensor([[bucket(query - key) + buckets for key in range(length)] for query in range(length)])
    columns = columns.clamp(0, 2 * buckets - 1)

    def picked(scores: Tensor) -> Tensor:
        rows = columns if by == "query" else columns.T
        found = scores.gather(-1, rows.expand(*scores.shape[:2], -1, -1))
        return found if by == "query" else found.transpose(-1, -2)

    return picked


def temperatures(positions: range, floor: int, scale: float) -> Tensor:
    """Return the factor of a query at each position, counted from 1 in Llama 4 and from 0 in Ministral 3."""
    places = torch.tensor(positions, dtype=torch.float64)
    return (1 + scale * (1 + places.div(floor, rounding_mode="floor")).log())[None, None, :, None]


# -- convolutions and scans ------------------------------------------------------------------------------------------


def slid(weight: Tensor, x: Tensor) -> Tensor:
    """Convolve each channel over its last positions."""
    padded = nn.functional.pad(x.transpose(1, 2), (weight.shape[-1] - 1, 0))
    return nn.functional.conv1d(padded, weight, groups=len(weight)).transpose(1, 2)


def patched(weight: Tensor, x: Tensor) -> Tensor:
    """Multiply each patch of an image by the kernel, and flatten the patches to a sequence."""
    return nn.functional.conv2d(x, weight, stride=weight.shape[-1]).flatten(2).transpose(1, 2)


def heard(weight: Tensor, x: Tensor) -> Tensor:
    """Radford et al. 2023, section 2.2: kernels of three positions; the first on audio, the second with stride two."""
    first = x.shape[1] == weight.shape[1]
    x = x if first else x.transpose(1, 2)
    return nn.functional.conv1d(x, weight, stride=1 if first else 2, padding=1).transpose(1, 2)


def of_image(weight: Tensor, x: Tensor) -> Tensor:
    """Convolve an image with kernels of 1 by 1 or 3 by 3."""
    image = x.transpose(1, 2).unflatten(2, (math.isqrt(x.shape[1]), -1))
    return nn.functional.conv2d(image, weight, padding=weight.shape[-1] // 2).flatten(2).transpose(1, 2)


def of_wave(weight: Tensor, x: Tensor) -> Tensor:
    """Baevski et al. 2020, section 4.2: kernels of 10 or 3 or 2 positions with strides, or the positions of tokens."""
    x = x[:, None] if x.dim() == 2 else x.transpose(1, 2)
    kernel, groups = weight.shape[-1], x.shape[1] // weight.shape[1]
    stride, padding = {10: (5, 0), 3: (2, 0), 2: (2, 0)}.get(kernel, (1, kernel // 2))
    found = nn.functional.conv1d(x, weight, stride=stride, padding=padding, groups=groups)
    return found[..., : x.shape[-1] if padding else None].transpose(1, 2)


def of_kernel(weight: Tensor) -> Tensor:
    """Salimans and Kingma 2016, eq. 2: the length of the matrix at each position of a kernel."""
    return weight.pow(2).sum((0, 1), keepdim=True).sqrt()


def mean_time(x: Tensor) -> Tensor:
    return x.mean(1, keepdim=True)


def std_time(x: Tensor) -> Tensor:
    return (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()


def row_products(q: Tensor, table: Tensor) -> Tensor:
    """Li et al. 2022, eq. 4: for each query of a square, its products with the vectors of the distances to all rows."""
    side = math.isqrt(q.shape[2])
    distances = torch.arange(side)[:, None] - torch.arange(side) + side - 1
    found = torch.einsum("bayxd,yrd->bayxr", q.unflatten(2, (side, side)), table[distances])
    return found.flatten(2, 3)[..., None]


def column_products(q: Tensor, table: Tensor) -> Tensor:
    """The same for the distances to all columns."""
    side = math.isqrt(q.shape[2])
    distances = torch.arange(side)[:, None] - torch.arange(side) + side - 1
    found = torch.einsum("bayxd,xcd->bayxc", q.unflatten(2, (side, side)), table[distances])
    return found.flatten(2, 3)[..., None, :]


def windowed(side: int, window: int) -> tuple[Function, Function]:
    """Li et al. 2022, section 3: the windows of a square filled up with zeros, and the square of windows."""
    wide = -(-side // window)

    def windows(x: Tensor) -> Tensor:
        padded = nn.functional.pad(
            x.unflatten(1, (side, side)), (0, 0, 0, wide * window - side, 0, wide * window - side)
        )
        apart = padded.unflatten(2, (wide, window)).unflatten(1, (wide, window)).transpose(2, 3)
        return apart.flatten(3, 4).flatten(0, 2)

    def square(x: Tensor) -> Tensor:
        apart = x.unflatten(0, (-1, wide, wide)).unflatten(3, (window, window)).transpose(2, 3)
        return apart.flatten(3, 4).flatten(1, 2)[:, :side, :side].flatten(1, 2)

    return windows, square


def scan(states: int) -> Function:
    """Gu and Dao 2023, eq. 2 with the steps of section 3.3, token by token: h = exp(Δ A) h + Δ u bᵀ, y = h c + D u."""

    def scanned(u: Tensor, step: Tensor, decay: Tensor, b: Tensor, c: Tensor, skip: Tensor) -> Tensor:
        heads = step.shape[-1]
        decay = decay if decay.dim() == 2 else decay[:, None]  # [heads, states], or equal for all states of a head
        b, c = (each.transpose(1, 2).flatten(2) if each.dim() == 4 else each for each in (b, c))  # of a norm's line
        b, c = (each.unflatten(-1, (-1, states)) for each in (b, c))
        b, c = (each.repeat_interleave(heads // each.shape[2], 2) for each in (b, c))  # heads of a group share them
        state = torch.zeros(len(u), heads, u.shape[-1] // heads, states, dtype=u.dtype)
        found = []
        for token in range(u.shape[1]):
            x, by = u[:, token].unflatten(-1, (heads, -1)), step[:, token, :, None]
            state = (by * decay).exp()[:, :, None] * state + (by * x)[..., None] * b[:, token, :, None]
            found.append(((state * c[:, token, :, None]).sum(-1) + skip[:, None] * x).flatten(1))
        return torch.stack(found, 1)

    return scanned


def delta_rule(width: int) -> Function:
    """Yang et al. 2024, eq. 10 transposed, token by token, with queries and keys of a given width.

    h = exp(Δ a) h, h = h + β kᵀ (v - k h), y = q h / √width; the decay belongs to a head, or to a row of its state.
    """

    def updated(q: Tensor, k: Tensor, v: Tensor, step: Tensor, rate: Tensor, strength: Tensor) -> Tensor:
        heads = strength.shape[-1]
        q, k = (
            each / (each.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt() for each in (_split(q, width), _split(k, width))
        )
        q, k = (each.repeat_interleave(heads // each.shape[2], 2) for each in (q, k))  # value heads share them
        v, steps = v.unflatten(-1, (heads, -1)), step.unflatten(-1, (heads, -1))  # one step, or one for each row
        state = torch.zeros(len(v), heads, width, v.shape[-1], dtype=v.dtype)
        found = []
        for token in range(v.shape[1]):
            state = (steps[:, token] * rate.reshape(heads, 1)).exp()[..., None] * state
            error = v[:, token] - (k[:, token, :, None] @ state)[:, :, 0]
            state = state + strength[:, token, :, None, None] * k[:, token, ..., None] * error[:, :, None]
            found.append((q[:, token, :, None] @ state)[:, :, 0] / width**0.5)
        return torch.stack(found, 2)

    return updated


def wkv(width: int) -> Function:
    """Peng et al. 2025, section 4, token by token, with a matrix: h = h (diag(d) - uᵀ(a ⊙ u)) + vᵀk, y = h r.

    All vectors are rows.
    """

    def updated(*rows: Tensor) -> Tensor:
        r, k, v, d, u, a = (_split(each, width) for each in rows)
        state = torch.zeros(*r.shape[:1], r.shape[2], width, width, dtype=r.dtype)
        found = []
        for token in range(r.shape[1]):
            kept = torch.diag_embed(d[:, token]) - u[:, token, :, :, None] * (a * u)[:, token, :, None]
            state = state @ kept + v[:, token, :, :, None] @ k[:, token, :, None]
            found.append((state @ r[:, token, ..., None])[..., 0])
        return torch.stack(found, 2)

    return updated


def block_diagonal(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """De et al. 2024, eq. 1 without the sigmoid, with a matrix [D,D] and biases [D] for each of the pieces of x."""
    pieces = _split(x, weight.shape[-1])
    return (torch.einsum("bsad,ade->bsae", pieces, weight) + bias).flatten(2)


def lru(u: Tensor, decaying: Tensor, taken: Tensor, rate: Tensor) -> Tensor:
    """De et al. 2024, eq. 3 and 4, token by token, with c = 8. The first token has no factor, as in the class."""
    u = u.transpose(1, 2).flatten(2) if u.dim() == 4 else u
    decay = (-8 * decaying * nn.functional.softplus(rate)).exp()
    state = taken[:, 0] * u[:, 0]
    found = [state]
    for token in range(1, u.shape[1]):
        factor = (1 - decay[:, token] ** 2).sqrt()
        state = decay[:, token] * state + factor * taken[:, token] * u[:, token]
        found.append(state)
    return torch.stack(found, 1)


def _split(x: Tensor, width: int) -> Tensor:
    """Return [B,S,A,width] from [B,S,A·width] or [B,A,S,width]."""
    return x.transpose(1, 2) if x.dim() == 4 else x.unflatten(-1, (-1, width))


def by_group(function: Function, groups: int) -> Function:
    """Apply a function of a row to each group of channels separately."""
    return lambda x: (
        function(x.unflatten(-1, (groups, -1))).expand(*x.shape[:-1], groups, x.shape[-1] // groups).flatten(-2)
    )


# -- routes ----------------------------------------------------------------------------------------------------------


def chosen_keys(keys: int) -> Function:
    """DeepSeek-AI 2025, V3.2, eq. 1 and 2: the keys with the largest scores of the preceding ones, and its own."""

    def mask(scores: Tensor, weights: Tensor) -> Tensor:
        length = scores.shape[-1]
        unseen = torch.ones(length, length, dtype=torch.bool).triu(1)
        summed = torch.einsum("bsh,bhst->bst", weights, scores).masked_fill(unseen, float("-inf"))
        best = summed.topk(keys, -1).indices
        return torch.full_like(summed, float("-inf")).scatter(-1, best, 0.0)[:, None]

    return mask


def compressed_words(known: Any) -> dict[str, Function]:
    """DeepSeek-AI 2026, eqs. 9 to 17 and 20 to 23, and the streams of Xie et al. 2025, token by token."""
    rates = known.compress_rates
    sizes = {"C_csa": rates["compressed_sparse_attention"], "C_hca": rates["heavily_compressed_attention"]}
    streams, epsilon, groups = known.hc_mult, known.hc_eps, known.o_groups
    theta, width = known.rope_parameters["compress"]["rope_theta"], known.qk_rope_head_dim

    def compress(size: int, overlapping: bool) -> Function:
        def entries(tokens: Tensor, gates: Tensor, bias: Tensor) -> Tensor:
            found = []
            for start in range(0, tokens.shape[1] - size + 1, size):
                own, before = slice(start, start + size), slice(start - size, start)
                values, scores = tokens[:, own], gates[:, own] + bias
                if overlapping:
                    first, second = (slice(None, tokens.shape[-1] // 2), slice(tokens.shape[-1] // 2, None))
                    values, scores = values[..., second], scores[..., second]
                    if start:
                        values = torch.cat((tokens[:, before, first], values), 1)
                        scores = torch.cat(((gates[:, before] + bias)[..., first], scores), 1)
                found.append((scores.softmax(1) * values).sum(1))
            return torch.stack(found, 1)

        return entries

    def rotate(size: int) -> Function:
        return lambda x: last_neighbours(x, angles(width, theta, x.shape[-2] * size)[::size])

    def choose(scores: Tensor, weights: Tensor) -> Tensor:
        size, queries = sizes["C_csa"], scores.shape[-2]
        summed = torch.einsum("bsh,bhst->bst", weights, scores)
        mask = torch.full_like(summed, float("-inf"))
        for query in range(queries):
            complete = (query + 1) // size
            best = summed[:, query, :complete].topk(min(known.index_topk, complete), -1).indices
            mask[:, query].scatter_(-1, best, 0.0)
        return mask[:, None]

    def add_last(scores: Tensor, mask: Tensor) -> Tensor:
        return scores + nn.functional.pad(mask, (scores.shape[-1] - mask.shape[-1], 0))

    def gates(x: Tensor, scale: Tensor, base: Tensor) -> Tensor:
        return (x * scale + base).sigmoid() + epsilon

    def weights(x: Tensor, scale: Tensor, base: Tensor) -> Tensor:
        own, after, mixing = x.split((streams, streams, streams**2), -1)
        first, second, third = base.split((streams, streams, streams**2))
        square = (mixing * scale[2] + third).unflatten(-1, (streams, streams)).softmax(-1) + epsilon
        for turn in range(2 * known.hc_sinkhorn_iters - 1):  # columns first
            square = square / (square.sum(-1 if turn % 2 else -2, keepdim=True) + epsilon)
        after = 2 * (after * scale[1] + second).sigmoid()
        return torch.cat((gates(own, scale[0], first), after, square.flatten(-2)), -1)

    def by_group(x: Tensor, matrices: Tensor) -> Tensor:
        x = x.transpose(1, 2).flatten(2) if x.dim() == 4 and x.shape[2] != groups else x.flatten(2)
        x, matrices = x.unflatten(-1, (groups, -1)), matrices.unflatten(0, (groups, -1))
        return torch.einsum("bsgi,goi->bsgo", x, matrices).flatten(2)

    found: dict[str, Function] = {f"rotate_{name}": rotate(size) for name, size in sizes.items()}
    found |= {f"compress_{name}": compress(size, False) for name, size in sizes.items()}
    found |= {f"compress_two_{name}": compress(size, True) for name, size in sizes.items()}
    return {
        **found,
        "choose_group_K_idx": choose,
        "add_last": add_last,
        "by_group": by_group,
        "flatten": lambda x: x.flatten(2),
        "copies_N_hc": lambda x: x[:, :, None].expand(-1, -1, streams, -1),
        "collapse": lambda x, w: (w[..., None] * x).sum(2),
        "expand": lambda x, w: w[..., None] * x[:, :, None],
        "mix": lambda x, w: w.unflatten(-1, (streams, streams)).transpose(-1, -2) @ x,
        "stream_weights": weights,
        "stream_gates": gates,
    }


def of_square_roots(logits: Tensor, experts: int) -> Chosen:
    """DeepSeek-AI 2026, section 2.1: square roots of softplus; times 1.5."""
    best = nn.functional.softplus(logits).sqrt().topk(experts, -1)
    return 1.5 * best.values / best.values.sum(-1, keepdim=True), best.indices


def of_all(logits: Tensor, experts: int, scale: float = 1.0) -> Chosen:
    """Return the best experts, weighted by a softmax over all experts."""
    best = logits.topk(experts, -1).indices
    return scale * logits.softmax(-1).gather(-1, best), best


def shares_of_all(logits: Tensor, experts: int) -> Chosen:
    """Return the best experts, weighted by a softmax over all experts, divided by the sum of these weights."""
    weights, best = of_all(logits, experts)
    return weights / weights.sum(-1, keepdim=True), best


def of_chosen(logits: Tensor, experts: int) -> Chosen:
    """Jiang et al. 2024, section 2.1: a softmax over the best only."""
    best = logits.topk(experts, -1)
    return best.values.softmax(-1), best.indices


def sigmoids_of_chosen(logits: Tensor, experts: int) -> Chosen:
    """Meta 2025, Llama 4: the sigmoids of the highest logits."""
    best = logits.topk(experts, -1)
    return best.values.sigmoid(), best.indices


def shares_of_sigmoids(logits: Tensor, experts: int) -> Chosen:
    """MiniMax 2025: the sigmoids of the highest logits, divided by their sum."""
    best = logits.sigmoid().topk(experts, -1)
    return best.values / best.values.sum(-1, keepdim=True), best.indices


def sparse_mixer(logits: Tensor, experts: int, noise: float = 0.01) -> Chosen:
    """Liu et al. 2024: the highest logit, then the highest of the others, each with its share of a softmax.

    The softmax is over the logits near the highest.
    """
    weights, chosen = list[Tensor](), list[Tensor]()
    left = logits
    for _ in range(experts):
        best = left.max(-1, keepdim=True)
        far = (best.values - logits) / torch.maximum(logits.abs(), best.values) > 2 * noise
        weights.append(left.masked_fill(far, float("-inf")).softmax(-1).gather(-1, best.indices))
        chosen.append(best.indices)
        left = left.scatter(-1, best.indices, float("-inf"))
    return torch.cat(weights, -1), torch.cat(chosen, -1)


def of_groups(logits: Tensor, experts: int) -> Chosen:
    """DeepSeek-AI 2024, V3, eq. 12 to 16: sigmoids; the group with the larger sum of its best two; times 2.5."""
    halves = logits.sigmoid().unflatten(-1, (2, -1))
    worse = halves.topk(2, -1).values.sum(-1).argmin(-1, keepdim=True)[..., None]
    left = halves.scatter(-2, worse.expand(*worse.shape[:-1], halves.shape[-1]), 0.0).flatten(-2)
    best = left.topk(experts, -1)
    return 2.5 * best.values / best.values.sum(-1, keepdim=True), best.indices
