"""The import of one suite of EnvPool: what it relies on, and what happens without that."""

import subprocess
import sys

import pytest

from brittlestar.engine import envpool_import
from brittlestar.engine.envpool_import import load_envpool
from brittlestar.envs.backends import envpool_available
from brittlestar.errors import UserError

pytestmark = pytest.mark.skipif(not envpool_available(), reason="EnvPool is not installed: pip install envpool")


def test_the_installed_envpool_can_be_imported_suite_by_suite():
    code = (
        "import sys; from brittlestar.engine.envpool_import import load_envpool\n"
        "print([load_envpool(env)[1] for env in ('CartPole-v1', 'FrozenLake-v1', 'Ant-v5', 'FetchReach-v4')])\n"
        "print('envpool.entry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "['classic_control', 'toy_text', 'mujoco.gym', 'mujoco.robotics']",
        "False",
    ], "EnvPool has changed: see `engine/envpool_import.py`"


class Whole:
    """What a package has that is imported in the usual way."""

    @staticmethod
    def list_all_envs():
        return ["CartPole-v1"]


@pytest.mark.parametrize("error", [ImportError, AttributeError])
def test_an_envpool_without_these_modules_is_imported_as_a_whole(error, monkeypatch):
    def change(env_id):
        raise error("EnvPool has changed")

    monkeypatch.setattr(envpool_import, "_load_suite", change)
    monkeypatch.setitem(sys.modules, "envpool", Whole)
    assert load_envpool("CartPole-v1") == (Whole, "")
    with pytest.raises(UserError, match="EnvPool has no such id; did you mean `CartPole-v1`"):
        load_envpool("CartPol-v1")


@pytest.mark.slow
def test_the_whole_of_envpool_can_be_imported_later():
    load_envpool("CartPole-v1")
    assert len(sys.modules["envpool"].list_all_envs()) > 1000
    with pytest.raises(UserError, match="EnvPool has no such id; did you mean `CartPole-v1`"):
        load_envpool("CartPol-v1")
