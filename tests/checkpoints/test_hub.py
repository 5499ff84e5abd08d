"""`hub:` ids, with a local server in place of the hub."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from brittlestar.cells import config_files
from brittlestar.cells.auto_env import resolve_env
from brittlestar.checkpoints import describe_path, find_statistics, hub
from brittlestar.errors import UserError
from brittlestar.policies.sb3 import Sb3Policy, ZooFolderPolicy
from brittlestar.results.load import read_cells

AGENT = "hub:sb3/ppo-CartPole-v1"
FEW = ["env=auto", "episodes=4", "perturbation.sigma=0"]


class Hub(BaseHTTPRequestHandler):
    """Serves the revision of a repository, the list of its files, and the files."""

    repositories: dict[str, dict[str, bytes]]
    asked: list[str]

    def do_GET(self):
        self._answer(body=True)

    def do_HEAD(self):
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        path = self.path.partition("?")[0].strip("/")
        self.asked.append(path)
        words = path.removeprefix("api/models/").split("/")
        files = self.repositories.get("/".join(words[:2]))
        if files is None:
            return self._send(404, b"", body, {"X-Error-Code": "RepoNotFound"})
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        if not path.startswith("api/"):
            content = files["/".join(words[4:])]
            tag = hashlib.sha256(content).hexdigest()
            return self._send(200, content, body, {"ETag": f'"{tag}"', "X-Repo-Commit": commit})
        if words[2:3] == ["tree"]:
            listed = [{"type": "file", "path": n, "size": len(c), "oid": _oid(c)} for n, c in files.items()]
        else:
            listed = {"id": "/".join(words[:2]), "sha": commit, "siblings": [{"rfilename": name} for name in files]}
        return self._send(200, json.dumps(listed).encode(), body, {"Content-Type": "application/json"})

    def _send(self, code: int, content: bytes, body: bool, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture(scope="module")
def saved():
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    file, best = io.BytesIO(), io.BytesIO()
    stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(file)
    stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=1, device="cpu").save(best)
    return file.getvalue(), best.getvalue()


@pytest.fixture
def server(saved):
    pytest.importorskip("huggingface_hub")
    agent, best = saved
    results = {"mean_reward": 9000.0, "std_reward": 1.0, "n_eval_episodes": 10}
    files = {
        "ppo-CartPole-v1.zip": agent,
        "CartPole-v1-best.zip": best,
        "results.json": json.dumps(results).encode(),
        "args.yml": b"algo: ppo\nenv: CartPole-v1\n",
        "config.yml": b"normalize: false\n",
        "README.md": b"not needed",
    }
    handler = type("Handler", (Hub,), {"repositories": {"sb3/ppo-CartPole-v1": files}, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def online(server, tmp_path, monkeypatch):
    """Sets the address of the hub, which its library reads only once, at import."""
    from huggingface_hub import constants

    handler, endpoint = server
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    monkeypatch.setattr("huggingface_hub.snapshot_download", _at(endpoint, tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    hub._fetch.cache_clear()
    yield handler
    hub._fetch.cache_clear()


def _at(endpoint, cache):
    from huggingface_hub import snapshot_download

    def download(*arguments, **options):
        return snapshot_download(*arguments, **options, endpoint=endpoint, cache_dir=cache)

    return download


def settings(server, tmp_path, **variables):
    return {"HF_ENDPOINT": server[1], "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_TELEMETRY": "1"} | variables


def test_a_zip_comes_with_the_files_that_belong_to_it(online, saved):
    files = hub.fetch(AGENT)
    assert [file.name for file in files] == ["ppo-CartPole-v1.zip", "results.json", "args.yml", "config.yml"]
    assert hub.local(AGENT).read_bytes() == saved[0]
    assert hub.local(f"{AGENT}/CartPole-v1-best.zip").read_bytes() == saved[1]
    assert not any(path.endswith("README.md") for path in online.asked)


def test_statistics_are_fetched_and_used(online):
    assert find_statistics(AGENT) is None
    online.repositories["sb3/ppo-CartPole-v1"]["vec_normalize.pkl"] = b"I" * 100
    hub._fetch.cache_clear()
    assert find_statistics(AGENT).endswith("/vec_normalize.pkl")
    with pytest.raises(UserError, match="vec_normalize.pkl cannot be read"):
        Sb3Policy(AGENT)


def test_the_record_of_the_hub_is_the_baseline(online):
    for policy in (Sb3Policy(AGENT), ZooFolderPolicy(AGENT)):
        assert (policy.record.mean, policy.record.std, policy.record.episodes) == (9000.0, 1.0, 10)
    assert ZooFolderPolicy(AGENT).trained_in == "CartPole-v1"


def test_an_agent_of_the_hub_can_be_described(online):
    assert "algorithm    ppo" in describe_path(AGENT)


def test_the_environment_has_the_arguments_of_the_training(online):
    assert not resolve_env({"id": "auto"}, {"path": AGENT})["kwargs"]
    online.repositories["sb3/ppo-CartPole-v1"]["env_kwargs.yml"] = b"sutton_barto_reward: true\nrender_mode: human\n"
    hub._fetch.cache_clear()
    assert resolve_env({"id": "auto"}, {"path": AGENT})["kwargs"] == {"sutton_barto_reward": True}


def test_the_hash_is_of_the_content(online, saved):
    def content():
        hub._fetch.cache_clear()
        return config_files.contents({"path": AGENT})

    first = content()
    assert content() == first and len(first) == 4
    online.repositories["sb3/ppo-CartPole-v1"]["README.md"] = b"changes no result"
    assert content() == first
    online.repositories["sb3/ppo-CartPole-v1"]["ppo-CartPole-v1.zip"] = saved[1]
    assert content() != first


def test_a_sweep_from_the_command_line(shell, server, tmp_path, saved):
    env = settings(server, tmp_path)
    _, folder = shell.sweep("policy=sb3", f"policy.path={AGENT}", *FEW, **env)
    (row,) = shell.table("sweep", "curve")
    assert (row["env"], row["baseline_check"]) == ("CartPole-v1", "baseline mismatch")
    (shell.folder / "CartPole-v1.zip").write_bytes(saved[0])
    shell.sweep("policy=sb3", "policy.path=CartPole-v1.zip", *FEW, name="file")
    assert shell.table("file", "curve")[0]["return"] == row["return"]
    manifest = read_cells(folder)[0].manifest
    assert manifest["config"]["policy"]["path"] == AGENT
    # The worker used the files that this process had downloaded.
    assert len([path for path in server[0].asked if path.endswith("revision/main")]) == 1


def test_the_cache_serves_without_a_network(shell, server, tmp_path):
    ask = ("policy=sb3", f"policy.path={AGENT}", *FEW)
    assert "(done)" in shell(*ask, **settings(server, tmp_path)).stdout
    offline = shell(*ask, **settings(server, tmp_path, HF_ENDPOINT="http://127.0.0.1:9"))
    assert "(cached)" in offline.stdout


@pytest.mark.parametrize(
    ("path", "endpoint", "message"),
    [
        (
            "hub:sb3/ppo-CartPol-v1",
            None,
            "hub:sb3/ppo-CartPol-v1 cannot be downloaded from the hub: there is no such repository",
        ),
        (
            f"{AGENT}/CartPole-v1-bets.zip",
            None,
            "there is no CartPole-v1-bets.zip in it; did you mean `CartPole-v1-best",
        ),
        (AGENT, "http://127.0.0.1:9", f"{AGENT} cannot be downloaded from the hub: Connect"),
        ("hub:sb3", None, "write `hub:owner/repo` or"),
    ],
)
def test_mistakes_are_one_line(shell, server, tmp_path, path, endpoint, message):
    env = settings(server, tmp_path) | ({"HF_ENDPOINT": endpoint} if endpoint else {})
    done = shell("policy=sb3", f"policy.path={path}", "env=cartpole", "episodes=2", check=False, **env)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    hub._fetch.cache_clear()
    with pytest.raises(UserError, match=r"hub:sb3/ppo-CartPole-v1 .*`pip install brittlestar\[hub\]`"):
        Sb3Policy(AGENT)
    hub._fetch.cache_clear()


@pytest.mark.parametrize("path", ["hub:", "hub:sb3", "hub:sb3/", "hub:/x", "hub:a/b/../../c"])
def test_other_texts_are_not_hub_ids(path):
    with pytest.raises(UserError, match="is not a hub id"):
        hub.fetch(path)


@pytest.mark.parametrize(
    ("content", "mean"),
    [
        (b'{"mean_reward": 2, "std_reward": 1, "n_eval_episodes": 5}', 2.0),
        (b'{"mean_reward": NaN, "std_reward": 1, "n_eval_episodes": 5}', None),
        (b'{"mean_reward": 2, "std_reward": 1, "n_eval_episodes": 0}', None),
        (b'{"mean_reward": 2}', None),
        (b"[1]", None),
        (b"\xff", None),
    ],
)
def test_published_results(tmp_path, content, mean):
    from brittlestar.policies.sb3 import _find_record

    (tmp_path / "results.json").write_bytes(content)
    record = _find_record(str(tmp_path / "CartPole-v1.zip"))
    assert (record and record.mean) == mean
    np.savez(tmp_path / "evaluations.npz", results=np.ones((1, 3)))
    assert _find_record(str(tmp_path / "CartPole-v1.zip")).mean == 1.0
