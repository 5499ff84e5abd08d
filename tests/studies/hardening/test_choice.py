"""The choice of the strength to train at."""

import pytest

from brittlestar.errors import UserError
from brittlestar.studies.hardening.choice import FILE, choose_level, read_choice, write_choice


@pytest.mark.parametrize(
    ("means", "measure", "share", "level"),
    [
        ({0: 1.0, 0.1: 0.9, 0.2: 0.899}, "success_any", 0.9, 0.1),
        ({0: 1.0, 0.1: 0.89, 0.2: 0.9, 0.4: 0.0}, "success_any", 0.9, 0.2),
        ({0: 1.0, 0.1: 0.9, 0.2: 0.8}, "success_final", 0.8, 0.2),
        ({0: 1.0, -0.1: 0.95, -0.2: 0.91}, "success_final", 0.9, -0.2),
        ({0: 0.8, 0.1: 0.73, 0.2: 0.71}, "normalised_return", 0.9, 0.1),
        ({0: 200.0, 0.1: 181.0, 0.2: 179.0}, "return", 0.9, 0.1),
        ({0: -200.0, 0.1: -219.0, 0.2: -221.0}, "return", 0.9, 0.1),
    ],
)
def test_the_largest_level_that_still_copes_is_chosen(means, measure, share, level):
    chosen = choose_level(means, measure, share, "sigma")
    assert chosen.level == level
    assert ("no success is defined" in chosen.reason) == (not measure.startswith("success"))
    assert ("copes with all levels" in chosen.reason) == (level == list(means)[-1])


@pytest.mark.parametrize(
    ("means", "measure", "message"),
    [
        ({0: 0.89, 0.1: 0.95}, "success_any", "fails already at level 0: success_any is 0.89, 0.9 is wanted"),
        ({0: -0.1, 0.1: -0.1}, "normalised_return", "fails already at level 0: normalised_return is -0.1, no better"),
        ({0: 1.0, 0.1: 0.5, 0.2: 0.3}, "success_any", "reaches 90 % success: already 0.1 leaves success_any 0.5"),
        ({0: 100.0, 0.1: 50.0}, "return", "reaches 90 % of the clean return: already 0.1 leaves return 50"),
    ],
)
def test_no_level_to_choose_is_an_error(means, measure, message):
    with pytest.raises(UserError, match=message):
        choose_level(means, measure, 0.9, "sigma")


def test_a_choice_is_found_again_only_for_the_same_study(tmp_path):
    chosen = choose_level({0: 1.0, 0.1: 0.95}, "success_any", 0.9, "sigma")
    assert read_choice(tmp_path, "abc") is None
    write_choice(tmp_path, "abc", chosen)
    assert read_choice(tmp_path, "abc") == chosen
    assert read_choice(tmp_path, "abd") is None
    (tmp_path / FILE).write_text('{"choosing": "abc", "cho')
    assert read_choice(tmp_path, "abc") is None
