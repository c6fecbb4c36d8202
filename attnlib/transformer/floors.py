"""Mixers that a good one must beat: none looks at what a token says to decide whom it hears."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnlib._core.checks import Empty, check_count
from attnlib.attention import Heads, Mixer, check_heads


class Floor(Mixer):
    """What the floors share: one linear map into the heads and one back, and no keys, scores or temperature.

    A context and a score bias are refused: tokens hear each other, or nobody. What a mask hides counts as if it were not
    there. Called with x ``[*batch, n, dim]`` and maybe a mask, they return ``[*batch, n, dim]``.

    Args:
        dim: width of x and of the output; context_dim can only be dim.
        heads, head_dim, causal, bias, bare, empty, device, dtype: as in :class:`attnlib.attention.Mixer`.

    Raises:
        ValueError: as :class:`attnlib.attention.Mixer`; also a context or a score bias.
    """

    has_keys, has_values, has_weights = False, False, False
    alone = "a floor has no scores"
    mixed_from = "x, or the parameters,"

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        heads: int = 1,
        head_dim: int | None = None,
        causal: bool = False,
        bias: bool = False,
        bare: bool = False,
        empty: Empty = "error",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            dim,
            context_dim,
            heads=heads,
            head_dim=head_dim,
            causal=causal,
            bias=bias,
            bare=bare,
            empty=empty,
            device=device,
            dtype=dtype,
        )


class IdentityMixer(Floor):
    r"""Every token hears itself alone: nothing is mixed.

    .. math:: \mathrm{out}_i = W_O W_V x_i

    Arguments, shapes and errors are those of :class:`Floor`. A token that may not see itself hears nothing, a zero.

    >>> x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> bool((IdentityMixer(2, bare=True)(x) == x).all())
    True
    """

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Each token's own value, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        if heads.mask is None or heads.seen.causal:
            return heads.value
        n = heads.query.shape[-2]
        itself = heads.mask.expand(*heads.query.shape[:-2], n, n).diagonal(dim1=-2, dim2=-1)
        return torch.where(itself.unsqueeze(-1), heads.value, 0.0)


class PoolMixer(Floor):
    r"""Every token hears the mean of all: attention at infinite temperature.

    .. math:: \mathrm{out}_i = W_O\, \frac1n \sum_j W_V x_j

    Arguments, shapes and errors are those of :class:`Floor`. With a mask it is the mean of what the token may see.

    >>> PoolMixer(2, bare=True)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    tensor([[[2., 3.],
             [2., 3.]]])
    """

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """The mean of what each token may see, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        value, mask = heads.value, heads.mask
        if mask is None:
            return value.mean(-2, keepdim=True).expand(value.shape)
        n = value.shape[-2]
        weights = mask.expand(*mask.shape[: max(0, mask.ndim - 2)], n, n).to(torch.promote_types(value.dtype, torch.float32))
        return (weights / weights.sum(-1, keepdim=True)).to(value.dtype) @ value


class SiteFloor(Floor):
    """What the floors with couplings between places share: a number of sites, of which fewer tokens use the first.

    Args:
        sites: the largest number of tokens.

    The other arguments, shapes and errors are those of :class:`Floor`; also more tokens than sites.
    """

    def __init__(
        self,
        dim: int,
        context_dim: int | None = None,
        *,
        sites: int,
        heads: int = 1,
        head_dim: int | None = None,
        causal: bool = False,
        bias: bool = False,
        bare: bool = False,
        empty: Empty = "error",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            dim,
            context_dim,
            heads=heads,
            head_dim=head_dim,
            causal=causal,
            bias=bias,
            bare=bare,
            empty=empty,
            device=device,
            dtype=dtype,
        )
        self.sites = check_count("sites", sites)
        self.start(device, dtype)

    def start(self, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        """Draw the parameters between sites. No shapes; errors are those of the class."""
        raise NotImplementedError

    def count(self, heads: Heads) -> int:
        """The number of tokens ``[*batch, heads, n, d]``. Raises ValueError if there are more than sites."""
        n = heads.query.shape[-2]
        if n > self.sites:
            raise ValueError(f"x has {n} tokens; expected at most {self.sites}, one for each site")
        return n

    def extra_repr(self) -> str:
        """Sizes, for printing."""
        return f"{super().extra_repr()}, sites={self.sites}"


class PlaceMixer(SiteFloor):
    r"""Learned couplings between places, one number for each pair and head: who hears whom is the same for every input.

    .. math:: \mathrm{out}_i = W_O \Big[\sum_j A^h_{ij}\, W_V^h x_j\Big]_h

    Arguments, shapes and errors are those of :class:`SiteFloor`. What a mask hides adds nothing; the couplings to the others
    stay as they are.

    Source: Tay et al. 2021, whose random synthesizer passes the same numbers through a softmax; Tolstikhin et al. 2021.

    >>> PlaceMixer(8, sites=5, heads=2)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def start(self, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        """Draw the couplings, ``[heads, sites, sites]``. Errors are those of the class."""
        self.couplings = nn.Parameter(torch.empty(self.heads, self.sites, self.sites, device=device, dtype=dtype))
        nn.init.normal_(self.couplings, std=self.sites**-0.5)

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """Each place's sum over places, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        n = self.count(heads)
        couplings = self.couplings[:, :n, :n]
        if heads.mask is not None:
            couplings = torch.where(heads.mask, couplings, 0.0)
        return couplings.to(heads.value.dtype) @ heads.value


class LinearMixer(SiteFloor):
    r"""One linear map of all tokens at once, and a hyperbolic tangent: all that a fixed map of the whole input can do.

    .. math:: \mathrm{out}_i = W_O \Big[\tanh\Big(\sum_j A^h_{ij}\, W_V^h x_j + b^h_i\Big)\Big]_h, \qquad
        A^h_{ij} \in \mathbb{R}^{d \times d}

    It is a step of naive mean field: the tokens are the means, the maps their couplings, the offsets the fields on them. With
    one head every output hears all of every token; with more, each head hears its own part of them.

    Arguments, shapes and errors are those of :class:`SiteFloor`. What a mask hides adds nothing to the sum.

    >>> LinearMixer(8, sites=5, heads=2)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def start(self, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        """Draw the maps, ``[heads, sites, sites, d, d]``, and begin without offsets. Errors are those of the class."""
        d = self.head_dim
        self.maps = nn.Parameter(torch.empty(self.heads, self.sites, self.sites, d, d, device=device, dtype=dtype))
        self.offset = nn.Parameter(torch.zeros(self.heads, self.sites, d, device=device, dtype=dtype))
        nn.init.normal_(self.maps, std=(self.sites * d) ** -0.5)

    def mix(self, heads: Heads) -> Float[Tensor, "*batch heads n d"]:
        """The map of all that each place may see, ``[*batch, heads, n, d]``. Errors are those of the call."""
        heads = check_heads(heads)
        n, value = self.count(heads), heads.value
        maps, offset = self.maps[:, :n, :n].to(value.dtype), self.offset[:, :n].to(value.dtype)
        if heads.mask is None:
            return (torch.einsum("hijde,...hje->...hid", maps, value) + offset).tanh()
        seen = heads.mask.expand(*value.shape[:-2], n, n).unsqueeze(-1)
        apart = torch.where(seen, value.unsqueeze(-3), 0.0)  # what each place may see, [*batch, heads, n, n, d]
        return (torch.einsum("hijde,...hije->...hid", maps, apart) + offset).tanh()
