"""Train many classifiers of pictures at once: one kind, a leading axis over runs, each with draws, batches and rate of its own.

A step of a small model is mostly overhead, so 25 runs together cost a quarter of what they cost one by one. Every run has the
parameters, the order of pictures, the schedule, the clipping and the Adam of ``attnlib.course.models.teach_labels``, and after
training its parameters are written back to its own model. The tests hold it against runs made one by one.

What mixes is stacked in one of three ways: spins by more heads, which never hear each other; attention by one more axis; and
everything else by ``torch.vmap``.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from digits import SoftmaxBlock
from equilibrium import Equilibrium, growth
from torch import Tensor, nn

from attnlib.attention import Heads, Mixer, SoftmaxAttention, attend
from attnlib.course.data import Images
from attnlib.course.models import patches
from attnlib.free_energy import VectorSpinAttention
from attnlib.mean_field import MeanFieldAttention
from attnlib.solve import fixed_point

OWN = ("couplings", "kernel", "strength")
"""Parameters of spins that have an axis of heads in front."""


class Reactions(nn.Module):
    """The networks that are the reaction of mean-field spins, one for each run: means ``[..., runs, n, d]`` in and out."""

    def __init__(self, weights: list[nn.Parameter]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(weights)

    def forward(self, means: Tensor) -> Tensor:
        """What the networks say of each site's means."""
        first, shift, last, level = self.weights
        inner = torch.tanh(means @ first.mT + shift.unsqueeze(-2))
        return inner @ last.mT + level.unsqueeze(-2)


class Together(nn.Module):
    """Classifiers of one kind as one module: pictures ``[runs, batch, 8, 8]``, logits ``[runs, batch, 10]``."""

    def __init__(self, models: list[nn.Module]) -> None:
        super().__init__()
        self.models, self.count = models, len(models)
        first = models[0]
        self.learned = {
            name: nn.Parameter(torch.stack([dict(model.named_parameters())[name].detach() for model in models]))
            for name, parameter in first.named_parameters()
            if parameter.requires_grad
        }
        self.mixer = getattr(first, "mixer", None)
        if isinstance(self.mixer, VectorSpinAttention | MeanFieldAttention):
            self.spins = self._spins(self.mixer)

    def _spins(self, mixer: Mixer) -> Mixer:
        """A mixer with the heads of all runs."""
        heads = self.count * mixer.heads
        settings = {"sites": mixer.sites, "heads": heads, "head_dim": mixer.head_dim, "beta": 1.0, "max_steps": mixer.max_steps}
        settings["on_failure"] = mixer.on_failure
        if isinstance(mixer, VectorSpinAttention):
            settings |= {"couplings": mixer.form, "response": mixer.response, "lengths": mixer.lengths}
            host: Mixer = VectorSpinAttention(heads * mixer.head_dim, **settings)
        else:
            names = {"symmetric": "across", "symmetric_inside": "inside", "self_coupling": "self_coupling"}
            settings |= {name: mixer.symmetries[key] for name, key in names.items()}
            settings |= {"prior": mixer.prior, "onsager": mixer.onsager, "tolerance": mixer.tolerance, "bound": mixer.bound}
            host = MeanFieldAttention(heads * mixer.head_dim, **settings)
            if mixer.reaction is not None:
                names = [f"mixer.reaction.{layer}.{kind}" for layer in (0, 2) for kind in ("weight", "bias")]
                host.reaction = Reactions([self.learned[name] for name in names])
        for name in OWN:
            if hasattr(mixer, name):
                stacked = torch.cat([getattr(model.mixer, name).detach() for model in self.models])
                setattr(host, name, nn.Parameter(stacked, requires_grad=getattr(mixer, name).requires_grad))
                if f"mixer.{name}" in self.learned:
                    self.learned[f"mixer.{name}"] = getattr(host, name)
        blank = torch.zeros(1, mixer.sites, host.dim)
        self._template = host.split(blank)
        return host

    def forward(self, images: Tensor) -> Tensor:
        """Logits of each run's own pictures."""
        if self.mixer is None or isinstance(self.mixer, SoftmaxBlock):
            call = lambda given, seen: torch.func.functional_call(self.models[0], given, (seen,))  # noqa: E731
            return torch.vmap(call)(self.learned, images)
        own = self.learned
        seen = self._mapped(patches(images, self.models[0].patch), "embed")
        blank = seen.new_zeros(*seen.shape[:-2], 1, seen.shape[-1])
        tokens = torch.cat([blank, seen], -2) + own["fields"].unsqueeze(1)
        return self._mapped(self._mixed(tokens)[..., 0, :], "readout")

    def _mapped(self, x: Tensor, name: str) -> Tensor:
        """Each run's linear map of what is its own, ``[runs, ..., d]``."""
        weight, shift = self.learned[f"{name}.weight"], self.learned.get(f"{name}.bias")
        y = (x.flatten(1, -2) @ weight.mT).unflatten(1, x.shape[1:-1])
        return y if shift is None else y + shift.view(self.count, *[1] * (x.ndim - 2), -1)

    def _mixed(self, tokens: Tensor) -> Tensor:
        """What each run's mixer makes of its tokens, ``[runs, batch, n, dim]``."""
        if isinstance(self.mixer, Equilibrium):
            return self._equilibrium(tokens)
        if isinstance(self.mixer, SoftmaxAttention):
            return self._attention(tokens, "mixer")
        heads = self.mixer.heads
        query = tokens if self.mixer.bare else self._mapped(tokens, "mixer.to_query")
        query = query.unflatten(-1, (heads, -1)).permute(1, 0, 3, 2, 4).flatten(1, 2)  # [batch, runs * heads, n, d]
        given: Heads = replace(self._template, query=query, key=query, value=query)
        out = self.spins.mix(given).unflatten(1, (self.count, heads)).permute(1, 0, 3, 2, 4).flatten(-2)
        return out if self.mixer.bare else self._mapped(out, "mixer.to_out")

    def _attention(self, tokens: Tensor, name: str, mixer: SoftmaxAttention | None = None) -> Tensor:
        mixer = self.mixer if mixer is None else mixer
        parts = (self._mapped(tokens, f"{name}.to_{part}") for part in ("query", "key", "value"))
        query, key, value = (part.unflatten(-1, (mixer.heads, -1)).transpose(-2, -3) for part in parts)
        said = attend(query, key, value, beta=mixer.beta, twice_differentiable=mixer.twice_differentiable)
        return self._mapped(said.transpose(-2, -3).flatten(-2), f"{name}.to_out")

    def block(self, tokens: Tensor, state: Tensor) -> Tensor:
        """One application of each run's block of a deep equilibrium model."""
        norm = self.mixer.norm
        made = F.layer_norm(tokens + self._attention(state, "mixer.attention", self.mixer.attention) / 2, norm.normalized_shape)
        weight, shift = (self.learned[f"mixer.norm.{part}"][:, None, None] for part in ("weight", "bias"))
        return made * weight + shift

    def _equilibrium(self, tokens: Tensor) -> Tensor:
        if self.mixer.steps:
            state = tokens
            for _ in range(self.mixer.steps):
                state = self.block(tokens, state)
            return state

        def step(state: Tensor) -> Tensor:
            return self.block(tokens, state.view(tokens.shape)).flatten(2).flatten(0, 1)

        found = fixed_point(step, tokens.detach().flatten(2).flatten(0, 1), **Equilibrium.SETTINGS)
        state = found.solution.view(tokens.shape)
        self.seen = tokens.detach(), state.detach()
        return state

    def stabilise(self, most: float) -> None:
        """As :meth:`MeanFieldAttention.stabilise`, each run for itself."""
        self.spins.stabilise(most)

    def hold(self, most: float) -> None:
        """As :meth:`Equilibrium.hold`, each run for itself."""
        tokens, state = self.seen
        fastest = growth(lambda y: self.block(tokens, y), state).amax(1)
        with torch.no_grad():
            self.learned["mixer.attention.to_out.weight"].mul_((most / fastest).clamp(max=1.0)[:, None, None])

    @torch.no_grad()
    def write_back(self) -> None:
        """Give every model its parameters."""
        for name, parameter in self.learned.items():
            for model, own in zip(self.models, parameter.view(self.count, -1), strict=True):
                target = model.get_parameter(name)
                target.copy_(own.view_as(target))


def orders(samples: int, steps: int, batch: int) -> Tensor:
    """The rows of each batch, ``[steps, batch]``, as ``teach_labels`` draws them from torch's generator."""
    found: list[Tensor] = []
    while len(found) < steps:
        order = torch.randperm(samples)
        found += [order[start : start + batch] for start in range(0, samples - batch + 1, batch)]
    return torch.stack(found[:steps])


def train(
    make: Callable[[int], nn.Module],
    lessons: list[Images],
    seeds: list[int],
    rates: list[float],
    steps: int,
    batch: int,
    after: Callable[[Together], None] | None = None,
) -> tuple[list[nn.Module], Tensor]:
    """Models after ``steps`` steps, and the losses ``[steps, runs]``.

    Run r is made by ``make(r)`` right after ``torch.manual_seed(seeds[r])``, learns from ``lessons[r]`` at most at the rate
    ``rates[r]``; ``after`` is called after each step with all of them. Raises ValueError where one of the runs breaks down.
    """
    models, rows = [], []
    for r, (seed, some) in enumerate(zip(seeds, lessons, strict=True)):
        torch.manual_seed(seed)
        models.append(make(r))
        rows.append(orders(len(some), steps, batch))
    together = Together(models)
    parameters, count = list(together.learned.values()), len(models)
    widths = [parameter.numel() // count for parameter in parameters]
    mean, square = torch.zeros(2, count, sum(widths))
    warm, losses, rate = max(1, steps // 20), [], torch.tensor(rates)[:, None]
    for step in range(steps):
        pictures = torch.stack([some.pictures[own[step]] for some, own in zip(lessons, rows, strict=True)])
        labels = torch.stack([some.labels[own[step]] for some, own in zip(lessons, rows, strict=True)])
        logits = together(pictures)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none").view(count, -1).mean(1)
        if not torch.isfinite(loss).all():
            raise ValueError(f"the loss of {int((~torch.isfinite(loss)).sum())} runs is not finite after {step} steps")
        gradient = torch.cat([g.reshape(count, -1) for g in torch.autograd.grad(loss.sum(), parameters)], 1)
        gradient = clipped(gradient)
        now = (step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        fall = (square.sqrt() / (1 - 0.999 ** (step + 1)) ** 0.5).add_(1e-8)
        move = -(rate * now / (1 - 0.9 ** (step + 1))) * mean / fall
        with torch.no_grad():
            for parameter, part in zip(parameters, move.split(widths, 1), strict=True):
                parameter += part.reshape(parameter.shape)
        losses.append(loss.detach())
        if after:
            after(together)
    together.write_back()
    return models, torch.stack(losses)


def clipped(gradient: Tensor, most: float = 1.0) -> Tensor:
    """Each run's gradient ``[runs, k]`` with a norm of at most this; also one that overflows."""
    if not torch.isfinite(gradient.norm(dim=1)).all():
        gradient = gradient / gradient.abs().amax(1, keepdim=True).clamp(min=1)
    return gradient * (most / (gradient.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1.0)
