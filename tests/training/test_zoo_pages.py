"""The pages that are written from the cards of the zoo."""

import shutil

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.config import config_folder
from brittlestar.policies.zoo import cards as zoo
from brittlestar.training.zoo_pages import pages, write_pages


def test_the_pages_are_up_to_date():
    texts = pages()
    for path, text in texts.items():
        assert path.read_text() == text, f"{path}: run `brittlestar zoo card`"
    assert {path for path in texts if path.suffix == ".yaml"} == set((config_folder() / "policy/zoo").rglob("*.yaml"))


def test_pages_are_written_where_they_differ(tiny, tmp_path):
    home = tmp_path / "zoo" / "policies"
    shutil.copytree(tiny("cartpole_ppo")[0], home)
    written = write_pages(home, tmp_path / "conf")
    assert len(written) == 1 + len(zoo.zoo_options())
    assert write_pages(home, tmp_path / "conf") == []
    assert "| cartpole_ppo " in (tmp_path / "zoo" / "policies" / "README.md").read_text()
    assert (tmp_path / "conf" / "cartpole_ppo.yaml").read_text().startswith("# ppo on cartpole, trained: return 3,")
