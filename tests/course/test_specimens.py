"""The specimens of page 7d: built as they are described, and read as they are: weights by hand, right keys by looping."""

import base64
import math
import struct

import pytest
import torch

from attnlib.attention import attend
from attnlib.course import recorded
from attnlib.course.data.joining import MASK, Language, hide
from attnlib.course.data.networks import halves
from attnlib.course.models.specimens import NETWORKS, mapped, rows_of, specimen, trained_specimen, weights_of

SIZES = {"dim": 16, "heads": 2, "steps": 3, "feed_forward": 8}


def strings(count=6, share=0.3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    found = Language().draw(count, generator=generator)
    return found, *hide(found.tokens, share, generator=generator)


def test_a_tied_specimen_is_small_enough_for_a_page():
    tied, untied = (sum(parameter.numel() for parameter in specimen(name).parameters()) for name in NETWORKS[:2])
    block = 4 * 128**2 + 2 * 128 * 256 + 256 + 128 + 4 * 128
    assert tied == block + (26 + 35 + 2) * 128 + 26 * 129
    assert untied == tied + 7 * block
    assert 2 * tied < 300_000


@pytest.mark.parametrize("network", NETWORKS)
def test_weights_are_those_of_the_network(network):
    torch.manual_seed(0)
    model = specimen(network, **SIZES)
    found, shown, _ = strings()
    weights = weights_of(model, shown, found.real)
    x = model.embed(shown)
    for step in range(3):
        block = model.stack.blocks[step if network == "untied" else 0]
        split = [to(x).unflatten(-1, (2, 8)).transpose(1, 2) for to in (block.mixer.to_query, block.mixer.to_key)]
        scores = split[0] @ split[1].mT / 8**0.5
        closed = ~found.real[:, None, None] | (
            torch.ones(35, 35).triu(1).bool() if network == "causal" else torch.tensor(False)
        )
        by_hand = scores.masked_fill(closed, -math.inf).softmax(-1)
        torch.testing.assert_close(weights[step], by_hand)
        value = block.mixer.to_value(x).unflatten(-1, (2, 8)).transpose(1, 2)
        mixed = block.mixer.to_out((by_hand @ value).transpose(1, 2).flatten(2))
        assert torch.allclose((by_hand @ value), attend(*split, value, mask=~closed), atol=1e-5)
        y = torch.nn.functional.layer_norm(x + mixed, (16,))
        x = torch.nn.functional.layer_norm(y + block.feed_forward(y), (16,))
    torch.testing.assert_close(model(shown, found.real), model.readout(x))


def test_a_causal_specimen_does_not_look_ahead():
    torch.manual_seed(0)
    model, (found, *_) = specimen("causal", **SIZES), strings()
    other = found.tokens.clone()
    other[:, 10:] = torch.where(other[:, 10:] > 0, 14, 0)
    said, again = model(found.tokens, found.real), model(other, found.real)
    torch.testing.assert_close(said[:, :10], again[:, :10])
    assert not torch.allclose(said[:, 10], again[:, 10])


def test_mapped_counts_rows_one_by_one():
    found, _, hidden = strings()
    weights = torch.rand(3, 6, 2, 35, 35, generator=torch.Generator().manual_seed(1))
    for keys, rows in rows_of(found, hidden).values():
        shares = mapped(weights, keys, rows)
        for step in range(3):
            for head in range(2):
                hits = [keys[b, i, weights[step, b, head, i].argmax()].item() for b, i in rows.nonzero().tolist()]
                assert shares[step, head].item() == pytest.approx(sum(hits) / len(hits))


def test_who_looks_at_the_origin_maps_everything():
    found, _, hidden = strings()
    asked = rows_of(found, hidden)
    for name in ("hidden", "shown", "several"):
        keys, rows = asked[name]
        assert rows.any()
        assert mapped(found.keys[:, None].float(), keys, rows).item() == 1
    keys, rows = asked["back"]
    assert mapped(found.keys.mT[:, None].float(), keys, rows).item() == 1
    assert mapped(found.keys[:, None].float(), keys, rows).item() < 0.2


def test_rows_are_what_they_are_called():
    found, shown, hidden = strings(50)
    asked = rows_of(found, hidden)
    for name, (keys, rows) in asked.items():
        for b, i in rows.nonzero().tolist()[:200]:
            token, origins = found.tokens[b, i], keys[b, i].nonzero()[:, 0]
            assert len(origins)
            wanted = found.tokens[b, i + 1] if name == "next" else token
            assert (found.tokens[b, origins] == wanted).all()
            if name in ("hidden", "back"):
                assert shown[b, i] == MASK
                assert (shown[b, origins] != MASK).all()
            if name == "shown":
                assert shown[b, i] != MASK
            if name == "several":
                arrow = found.tokens[b].tolist().index(5)
                assert (found.tokens[b, :arrow] == token).sum() > 1


def test_shapes_and_networks_that_do_not_fit_are_refused(unchecked):
    found, _, hidden = strings()
    keys, rows = rows_of(found, hidden)["shown"]
    with pytest.raises(ValueError, match="expected \\[\\*steps, count, heads, n, m\\]"):
        mapped(torch.zeros(3, 5, 2, 35, 35), keys, rows)
    with pytest.raises(ValueError, match="network"):
        specimen("loose")


def tiny():
    """A small record, and the network that it is of."""
    torch.manual_seed(0)
    model = specimen("tied", **SIZES)
    tensors = {
        name: {"shape": [*each.shape], "parts": base64.b64encode(each.half().numpy().tobytes()).decode()}
        for name, each in model.state_dict().items()
    }
    return {"network": "tied", "sizes": dict(SIZES), "tensors": tensors}, model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_record_is_read_as_it_was_written(dtype):
    record, model = tiny()
    found, (strings_, shown, _) = trained_specimen(record, dtype=dtype), strings()
    assert not found.training
    assert not any(parameter.requires_grad for parameter in found.parameters())
    for name, each in model.state_dict().items():
        assert found.state_dict()[name].dtype == dtype
        assert torch.equal(found.state_dict()[name], each.half().to(dtype))
    logits = model(shown, strings_.real)
    torch.testing.assert_close(found(shown, strings_.real), logits.to(dtype), atol=0.02, rtol=0.02)


def test_halves_are_little_endian():
    for numbers in ([1.0, -2.5, 0.1, 65504.0], [6e-8], [0.0] * 12):
        table = {"shape": [len(numbers)], "parts": base64.b64encode(struct.pack(f"<{len(numbers)}e", *numbers)).decode()}
        assert torch.equal(halves("these", table), torch.tensor(numbers).half())
    assert halves("these", table | {"shape": [3, 2, 2]}).shape == (3, 2, 2)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("AAA=", "these is 'AAA='; expected a table with its shape and its parts"),
        ({"shape": [1]}, "these is {'shape'"),
        ({"shape": [2], "parts": "AAA="}, "these has 2 bytes; expected two for each number of the shape (2,)"),
        ({"shape": [0], "parts": ""}, "these has 0 bytes"),
        ({"shape": [1], "parts": "half"[:3]}, "these has parts 'hal'; expected base64"),
        ({"shape": [1], "parts": 7}, "these has parts 7; expected base64"),
        ({"shape": [1], "parts": "Ä"}, "these has parts 'Ä'; expected base64"),
    ],
    ids=str,
)
def test_halves_that_are_none_are_refused(table, complaint, unchecked):
    with pytest.raises(ValueError) as refused:
        halves("these", table)
    assert str(refused.value).startswith(complaint)


def test_records_of_something_else_are_refused(unchecked):
    record, _ = tiny()
    tensors = record["tensors"]
    wide = {"shape": [26, 8], "parts": base64.b64encode(bytes(2 * 26 * 8)).decode()}
    endless = {"shape": [26], "parts": base64.b64encode(struct.pack("<26e", math.inf, *[0] * 25)).decode()}
    for changes, complaint in [
        ({"network": "loose"}, "network is 'loose'"),
        ({"sizes": SIZES | {"dim": 0}}, "dim is 0"),
        ({"tensors": {name: each for name, each in tensors.items() if name != "readout.bias"}}, "no tensor readout.bias"),
        ({"tensors": tensors | {"more": tensors["readout.bias"]}}, "record has a tensor more"),
        ({"tensors": tensors | {"readout.weight": wide}}, r"readout.weight has the shape \(26, 8\); expected \(26, 16\)"),
        ({"tensors": tensors | {"readout.bias": endless}}, "readout.bias has numbers that are not finite"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            trained_specimen(record | changes)
    for other in ({}, recorded("walker_weights"), 7):
        with pytest.raises(ValueError, match="record has no network"):
            trained_specimen(other)
    with pytest.raises(ValueError, match="dtype"):
        trained_specimen(record, dtype=torch.float16)


def test_the_record_holds_a_network_that_reads():
    model, (found, shown, hidden) = trained_specimen(recorded("specimen_weights")), strings(200, 0.2)
    loss = torch.nn.functional.cross_entropy(model(shown, found.real)[hidden], found.tokens[hidden]).item()
    assert loss == pytest.approx(recorded("specimen_weights")["measured"]["loss"], abs=0.25)  # six standard errors
