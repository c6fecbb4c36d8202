"""How a map acts on small differences: its spectral radius, and the size of its Jacobian as something to train on."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attnlib._core.checks import check_choice, check_count, check_generator, check_number
from attnlib._core.convergence import OnFailure, report_failure
from attnlib._core.numerics import differentiable, widened
from attnlib._core.transforms import in_forward_mode, transforming
from attnlib._core.values import check_visible, refuted, settled
from attnlib.solve.implicit import Map, check_map

KRYLOV, LOOK = 64, 8
"""Dimensions of the largest space in which eigenvalues are looked for, and after how many more it is looked there.

The largest eigenvalues of a map of many variables lie close together, often in complex pairs: a small space that is begun again
and again does not part them.
"""


def spectral_radius(
    function: Callable[[Tensor], Tensor],
    state: Float[Tensor, "*batch k"],
    *,
    tolerance: float | int = 1e-4,
    max_steps: int = 400,
    generator: torch.Generator | None = None,
    on_failure: OnFailure = "error",
) -> Float[Tensor, "*batch"]:
    r"""The spectral radius of a map's Jacobian at a state: by how much a small difference grows with each step, in the end.

    .. math:: \rho = \max_i |\lambda_i|, \qquad \lambda_i \text{ the eigenvalues of } \frac{\partial f}{\partial z}

    At a fixed point the plain iteration comes back from small differences where it is below 1, at this rate, and leaves the
    point where it is above. It is found from products with the transposed Jacobian only, by Arnoldi's method in spaces of up to
    64 dimensions, begun again from the best vector. It carries no gradient.

    Args:
        function: the map; states ``[*batch, k]`` in and out. Each sample's image must depend on that sample alone.
        state: where the map is linearised, ``[*batch, k]``, finite.
        tolerance: the largest residual of the eigenvector, relative to the Jacobian's norm in its space.
        max_steps: products allowed.
        generator: of the vector to begin with; default one with the seed 0.
        on_failure: a sample that is not within the tolerance is an ``"error"`` (default), a ``ConvergenceError``; or
            ``"warn"``, and the last estimate is returned.

    Returns:
        The radius of each sample, ``[*batch]``.

    Raises:
        ValueError: a state that is not ``[*batch, k]`` or not finite, settings out of range.

    Source: Arnoldi 1951.

    >>> turn = torch.tensor([[0.0, -0.5], [0.5, 0.0]])  # its eigenvalues are -0.5i and 0.5i
    >>> spectral_radius(lambda z: z @ turn.mT, torch.zeros(2))
    tensor(0.5000)
    """
    check_map(function, "state", state)
    check_visible(state=state)
    check_choice("on_failure", on_failure, ("error", "warn"))
    tolerance, max_steps = check_number("tolerance", tolerance, above=0), check_count("max_steps", max_steps)
    check_generator(generator)
    radius, residual = radius_of(function, state, tolerance, max_steps, generator)
    if refuted(lambda: (residual <= tolerance).all()):
        report_failure(
            f"{int((residual > tolerance).sum())} of {residual.numel()} samples have no eigenvector within {max_steps} "
            f"products: a relative residual of {residual.max():.2g} is left; expected at most {tolerance:.2g}",
            iterations=max_steps,
            residual=residual.max().item(),
            on_failure=on_failure,
        )
    return radius


def jacobian_penalty(
    function: Callable[[Tensor], Tensor],
    state: Float[Tensor, "*batch k"],
    *,
    samples: int = 1,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch"]:
    r"""An unbiased estimate of the squared Frobenius norm of a map's Jacobian, to be added to a loss.

    .. math:: |J|_F^2 = \mathbb{E}_\epsilon\, |\epsilon^\top J|^2, \qquad \epsilon_i = \pm 1, \qquad
        J = \frac{\partial f}{\partial z}

    The norm is an upper bound of the spectral radius, so that a network which is trained to keep it small keeps fixed points
    that iteration finds quickly. Of the state and of all that the function closes over it is differentiable.

    Args:
        function: the map; states ``[*batch, k]`` in and out. Each sample's image must depend on that sample alone.
        state: where the Jacobian is taken, ``[*batch, k]``, such as the solution of :func:`fixed_point`; finite.
        samples: how many random vectors to average over; default one.
        generator: of the random signs; default torch's own.

    Returns:
        The estimate for each sample, ``[*batch]``, in units of the whole norm: divide by k for a number that does not grow
        with the width.

    Raises:
        ValueError: a state that is not ``[*batch, k]`` or not finite, samples below 1.

    Source: Bai, Koltun and Kolter 2021, whose vectors are Gaussian; Hutchinson 1989 for signs, which vary less.

    >>> scale = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> jacobian_penalty(lambda z: scale * z, torch.ones(2))
    tensor(25., grad_fn=<DivBackward0>)
    """
    check_map(function, "state", state)
    samples = check_count("samples", samples)
    check_generator(generator)
    with torch.enable_grad():
        if in_forward_mode() or transforming():  # these see through products of their own only
            pull = torch.func.vjp(function, state)[1]
        else:
            point = differentiable(state)
            point = point if point.requires_grad else point.detach().requires_grad_()
            image = function(point)
            pull = lambda signs: (_pulled(image, point, signs, create=True),)  # noqa: E731
        total = torch.zeros_like(state[..., 0])
        for _ in range(samples):
            drawn = torch.rand(state.shape, generator=generator, dtype=state.dtype, device=state.device)
            total = total + pull((drawn - 0.5).sign())[0].square().sum(-1)
    found = total / samples
    return found if torch.is_grad_enabled() else found.detach()


def radius_of(
    function: Map, state: Tensor, tolerance: float | int, max_steps: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """The radius, and the relative residual of its eigenvector, each ``[*batch]``."""
    with torch.enable_grad():
        point = differentiable(state).detach().requires_grad_()
        image = function(point)
    k, wide = state.shape[-1], widened(state).dtype
    drawn = torch.Generator(state.device).manual_seed(0) if generator is None else generator
    vector = torch.randn(state.shape, generator=drawn, dtype=wide, device=state.device)
    width, space = min(k, KRYLOV), _Space(lambda u: _pulled(image, point, u.to(state.dtype)).to(wide), vector)
    radius, residual = (torch.zeros_like(vector[..., 0]) for _ in range(2))
    with torch.no_grad():
        for products in range(1, max_steps + 1):
            space.grow()
            full = space.width == width
            if not (full or space.width % LOOK == 0 or products == max_steps):
                continue
            radius, residual, best = space.strongest()
            if settled(residual <= tolerance):
                break
            if full:
                space = _Space(space.product, best)
    return radius.to(state.dtype), residual


class _Space:
    """An orthonormal basis ``[*batch, width, k]`` of what products make of a vector, and the map in it, by Arnoldi's method.

    A space that ends early is filled with zeros.
    """

    def __init__(self, product: Map, vector: Tensor) -> None:
        self.product, self.columns = product, list[Tensor]()
        self.basis = [_unit(vector)[0]]

    @property
    def width(self) -> int:
        return len(self.columns)

    def grow(self) -> None:
        """One product more."""
        found = self.product(self.basis[-1])
        small = 16 * torch.finfo(found.dtype).eps * found.norm(dim=-1)
        known = torch.stack(self.basis, -2)
        shares = (known @ found.unsqueeze(-1))[..., 0]
        found = found - (known.mT @ shares.unsqueeze(-1))[..., 0]
        again = (known @ found.unsqueeze(-1))[..., 0]  # once more: the first time leaves rounding
        found = found - (known.mT @ again.unsqueeze(-1))[..., 0]
        direction, length = _unit(found, small)
        self.columns.append(torch.cat([shares + again, length.unsqueeze(-1)], -1))
        self.basis.append(direction)

    def strongest(self) -> tuple[Tensor, Tensor, Tensor]:
        """The largest eigenvalue in size, the relative residual of its vector, and its vector's real part."""
        width = self.width
        padded = [torch.nn.functional.pad(column, (0, width + 1 - column.shape[-1])) for column in self.columns]
        H = torch.stack(padded, -1)
        beyond, H = H[..., width, -1], H[..., :width, :]
        values, modes = torch.linalg.eig(H)
        best = values.abs().argmax(-1, keepdim=True)
        mode = modes.gather(-1, best.unsqueeze(-2).expand(*modes.shape[:-1], 1))[..., 0]
        size = torch.linalg.matrix_norm(H)
        residual = beyond * mode[..., -1].abs() / torch.where(size > 0, size, 1.0)
        known = torch.stack(self.basis[:-1], -2)
        return values.abs().amax(-1), residual, (known.mT @ mode.real.unsqueeze(-1))[..., 0]


def _unit(vector: Tensor, small: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """The vector at length one and its length; zeros where it is no longer than what is small."""
    length = vector.norm(dim=-1)
    length = torch.where(length > small, length, 0.0)
    return vector * torch.where(length > 0, 1 / length.clamp(min=1e-300), 0.0).unsqueeze(-1), length


def _pulled(image: Tensor, point: Tensor, u: Tensor, create: bool = False) -> Tensor:
    """``J^T u``; zeros where the image does not depend on the point."""
    if not image.requires_grad:
        return torch.zeros_like(u)
    (back,) = torch.autograd.grad(image, point, u, retain_graph=True, create_graph=create, allow_unused=True)
    return torch.zeros_like(u) if back is None else back
