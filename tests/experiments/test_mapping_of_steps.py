"""Who maps when a tied block goes on: the record beside that of the examinations, and at a network that is known."""

import examinations
import mapping_of_steps
import pytest
import torch
from helpers.specimen_records import is_whole

from attnlib.course import recorded
from attnlib.course.data.examined_specimens import ExaminedSpecimens
from attnlib.course.models.interventions import watched
from attnlib.course.models.specimens import specimen

RECORD = recorded("mapping_of_steps")


def saved(folder, network):
    torch.manual_seed(1)
    model = specimen(network, **mapping_of_steps.QUICK["sizes"]).eval()
    torch.save(model.state_dict(), folder / f"{network}-1.pt")
    return model


@pytest.mark.parametrize("network", ["tied", "causal"])
def test_each_step_is_read_for_itself(tmp_path, unchecked, network):
    model, settings = saved(tmp_path, network), mapping_of_steps.QUICK
    found = mapping_of_steps.mapping(network, 1, tmp_path, settings)
    trained, asked = examinations.Asked(network, settings), examinations.Asked(network, settings, settings["long"]["strings"])
    first = trained.mapping(watched(model, trained.tokens, trained.real))
    head = (first == first.max()).nonzero()[0, 1]
    for step in range(1, settings["long"]["steps"] + 1):
        seen = watched(model, asked.tokens, asked.real, steps=step)
        shares = asked.mapping(seen)[-1]
        assert found["mapper"][step - 1] == pytest.approx(shares[head].item(), rel=1e-3)
        assert found["best"][step - 1] == pytest.approx(shares.max().item(), rel=1e-3)
        assert shares[found["head"][step - 1] - 1] == shares.max()
        assert found["loss"][step - 1] == pytest.approx(asked.loss(model.readout(seen.states[-1])), rel=1e-3)


def test_blocks_of_their_own_cannot_go_on(tmp_path, unchecked):
    saved(tmp_path, "untied")
    assert mapping_of_steps.mapping("untied", 1, tmp_path, mapping_of_steps.QUICK) == {"network": "untied", "seed": 1}


# --- the committed record ---


def test_the_record_is_whole():
    is_whole(RECORD, mapping_of_steps)


@pytest.mark.parametrize("network", ["tied", "causal"])
def test_it_goes_with_the_record_of_the_examinations(network):
    """The best so far is what that says, and losses are the same before small differences have grown."""
    found, then = ExaminedSpecimens(RECORD), ExaminedSpecimens(recorded("examinations"))
    best, mapper, loss = (found.read(network, name) for name in ("best", "mapper", "loss"))
    assert (mapper <= best).all()
    for step in mapping_of_steps.SETTINGS["long"]["read"]:
        torch.testing.assert_close(best[:, :step].amax(1), then.read(network, "rest", "mapping", str(step)), atol=1e-3, rtol=0)
        if step <= 24:
            torch.testing.assert_close(loss[:, step - 1], then.read(network, "rest", "loss", str(step)), atol=1e-2, rtol=0)
