"""What an error says of an argument: its name, what came in a few words, what was expected."""

import numpy as np
import pytest
import torch

from attnlib._core.checks import check_choice, check_count, check_number, check_tensors


@pytest.mark.parametrize(
    ("came", "said"),
    [
        (np.ones((200, 3)), r"query is of shape \[200, 3\] \(ndarray\)"),
        (np.float64(2.5), r"query is np\.float64\(2\.5\) \(float64\)|query is 2\.5 \(float64\)"),
        ([1.0, 2.0], r"query is \[1\.0, 2\.0\] \(list\)"),
        (None, r"query is None \(NoneType\)"),
    ],
    ids=["array", "number of numpy", "list", "nothing"],
)
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_tensor_is_named_in_a_few_words(came, said):
    with pytest.raises(ValueError, match=f"^(?:{said}); expected a torch.Tensor, as torch.as_tensor makes"):
        check_tensors(query=came)


@pytest.mark.usefixtures("unchecked")
def test_a_tensor_in_place_of_a_number_is_named_by_its_shape():
    with pytest.raises(ValueError, match=r"^beta is of shape \[3\] \(Tensor\); expected a number"):
        check_number("beta", torch.ones(3))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda array: check_count("heads", array), "expected an integer of at least 1"),
        (lambda array: check_choice("empty", array, ("error", "zero")), "expected one of 'error', 'zero'"),
    ],
    ids=["count", "choice"],
)
@pytest.mark.parametrize("kind", [np.ones, torch.ones], ids=["numpy", "torch"])
@pytest.mark.usefixtures("unchecked")
def test_an_array_in_place_of_a_count_or_a_word_is_named_by_its_shape(call, expected, kind):
    with pytest.raises(ValueError, match=rf"^\w+ is of shape \[200, 3\] \(\w+\); {expected}$"):
        call(kind((200, 3)))


@pytest.mark.parametrize("came", [0, 2.5, "eight", [8]])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_count_is_written_as_it_came(came):
    with pytest.raises(ValueError) as caught:
        check_count("heads", came)
    assert str(caught.value) == f"heads is {came!r}; expected an integer of at least 1"
