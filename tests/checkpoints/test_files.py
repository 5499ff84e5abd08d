"""Files that are not what their name promises."""

from __future__ import annotations

import pytest

from brittlestar.checkpoints import read_checkpoint, read_statistics
from brittlestar.checkpoints.files import existing
from brittlestar.checkpoints.safe_yaml import read_yaml
from brittlestar.checkpoints.scores import read_scores
from brittlestar.errors import MissingFileError, UserError

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"\n<!DOCTYPE html>\n<html><body>Not found</body></html>"
POINTS = "it is a git-LFS pointer, not the file itself: run `git lfs pull` in its repository"
SHOWS = "it is a web page, not the file itself: download the raw file"


@pytest.mark.parametrize(
    ("content", "reason"), [(POINTER, POINTS), (PAGE, SHOWS), (b"", "it is empty: download or copy it again")]
)
@pytest.mark.parametrize("read", [existing, read_checkpoint, read_statistics, read_scores])
def test_a_file_in_place_of_another_is_called_that(tmp_path, read, content, reason):
    (tmp_path / "model.zip").write_bytes(content)
    with pytest.raises(UserError) as caught:
        read(tmp_path / "model.zip")
    assert str(caught.value) == f"{tmp_path}/model.zip cannot be read: {reason}"


def test_settings_in_git_lfs_are_called_that_and_empty_ones_are_none(tmp_path):
    (tmp_path / "args.yml").write_bytes(POINTER)
    with pytest.raises(UserError, match="git-LFS pointer"):
        read_yaml(tmp_path / "args.yml")
    (tmp_path / "args.yml").write_bytes(b"")
    assert read_yaml(tmp_path / "args.yml") == {}


def test_a_truncated_file_is_called_that(tmp_path, build):
    for name, content, read in (
        ("model.zip", build.zipped(build.agent()), read_checkpoint),
        ("vecnormalize.pkl", build.statistics(), read_statistics),
    ):
        for share in (0.3, 0.9):
            (tmp_path / name).write_bytes(content[: int(share * len(content))])
            with pytest.raises(
                UserError, match=f"{name} cannot be read: it is truncated, its end is missing: download"
            ):
                read(tmp_path / name)


def test_a_missing_file_names_a_near_one_or_a_few_but_not_its_whole_folder(tmp_path):
    for name in ("notes.txt", "CartPole-v1.zip", *(f"{i}_steps.zip" for i in range(30))):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(MissingFileError, match=r"CartPole.zip; did you mean `CartPole-v1.zip`\?$"):
        existing(tmp_path / "CartPole.zip")
    with pytest.raises(MissingFileError, match=r"quite_another.zip; its folder has (\w+.zip, ){2}\w+.zip and 28 more$"):
        existing(tmp_path / "quite_another.zip")
    with pytest.raises(MissingFileError, match=r"quite_another.onnx$"):
        existing(tmp_path / "quite_another.onnx")
