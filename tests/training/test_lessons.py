"""Lessons: what a learner saw and an expert answered, in memory and in pieces on disk."""

import numpy as np
import pytest

from brittlestar.training.lessons import Lessons


def filled(folder, most, total, step=8):
    lessons = Lessons(folder, most)
    for first in range(0, total, step):
        numbers = np.arange(first, min(first + step, total))
        lessons.add({"image": numbers[:, None].astype(np.uint8), "place": numbers[:, None] / 2}, numbers)
    return lessons


def held(lessons):
    seen, advice = lessons.pick(np.arange(len(lessons)))
    assert (seen["image"][:, 0] == advice % 256).all() and (seen["place"][:, 0] == advice / 2).all()
    return sorted(advice.tolist())


def test_new_rows_replace_the_oldest(tmp_path):
    assert held(filled(tmp_path, 20, 50)) == list(range(30, 50))


@pytest.mark.parametrize("most", [20, 100])
@pytest.mark.parametrize("piece", [7, 4096])
def test_rows_come_back_from_disk(tmp_path, monkeypatch, most, piece):
    monkeypatch.setattr("brittlestar.training.lessons._PIECE_ROWS", piece)
    lessons = filled(tmp_path, most, 16)
    lessons.save()
    for number in range(16, 50):
        lessons.add({"image": np.array([[number]], np.uint8), "place": np.array([[number / 2]])}, np.array([number]))
        if number % 10 == 0:
            lessons.save()
    lessons.save()
    again = Lessons(tmp_path, most)
    again.load(50)
    assert held(again) == list(range(max(0, 50 - most), 50))


def test_rows_behind_a_checkpoint_are_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.training.lessons._PIECE_ROWS", 10)
    filled(tmp_path, 100, 50).save()
    early = Lessons(tmp_path, 100)
    early.load(34)
    for number in range(150, 170):
        early.add({"image": np.array([[number]], np.uint8), "place": np.array([[number / 2]])}, np.array([number]))
    early.save()
    again = Lessons(tmp_path, 100)
    again.load(54)
    assert held(again) == [*range(34), *range(150, 170)]


def test_a_missing_piece_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.training.lessons._PIECE_ROWS", 10)
    filled(tmp_path, 100, 40).save()
    sorted(tmp_path.iterdir())[1].unlink()
    with pytest.raises(ValueError, match="does not hold the rows 10 to 40"):
        Lessons(tmp_path, 100).load(40)


def test_a_checkpoint_that_counts_more_rows_than_there_are_is_an_error(tmp_path):
    filled(tmp_path, 100, 40).save()
    with pytest.raises(ValueError, match="does not hold the rows 40 to 50"):
        Lessons(tmp_path, 100).load(50)
