"""Policies that a server offers, and cells whose policy is behind one."""

import dataclasses

import pytest
from wire_bed import endpoint, plain_server, steer

from brittlestar.cells import run as cell
from brittlestar.cells.job import resolve
from brittlestar.cells.offer import make_offer
from brittlestar.errors import UserError
from brittlestar.policies.server import connection

TARGET = "brittlestar.policies.server.ServerPolicy"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Metadata that earlier tests asked for are forgotten."""
    monkeypatch.setattr(connection, "_announced", {})


@pytest.fixture
def remote(job, fresh):
    """A job whose policy is behind a server."""

    def make(url, **fields):
        node = {"_target_": TARGET, "url": url, "revision": None} | fields
        return dataclasses.replace(job, config=job.config | {"policy": node})

    return make


def serve_config(policy, **keys):
    env = {"_target_": "brittlestar.envs.EnvSpec", "id": "Pendulum-v1", "lanes": 2}
    return {"env": env, "policy": policy, "deterministic": True, "repeatable": None} | keys


def hash_of(job):
    connection._announced.clear()
    return resolve(job).cell


def test_the_hash_covers_address_metadata_and_revision_but_no_timeout(remote):
    with plain_server(steer(size=1), {"digest": "a"}) as server, plain_server(steer(size=1), {"digest": "a"}) as other:
        first = hash_of(remote(server.url))
        settings = {"_target_": "brittlestar.policies.server.ConnectionSettings", "timeout_seconds": 5.0}
        assert hash_of(remote(server.url)) == first == hash_of(remote(server.url, connection=settings))
        assert hash_of(remote(other.url)) != first != hash_of(remote(server.url, revision="step 900"))
        server.metadata = {"digest": "b"}
        assert hash_of(remote(server.url)) != first


def test_a_cell_records_its_server_and_is_reused_while_that_announces_the_same(remote):
    with plain_server(steer(size=1), {"model": "x"}) as server:
        outcome = cell.run(remote(server.url))
        assert outcome.status == "done", outcome.error
        manifest = cell.reuse(resolve(remote(server.url))).manifest
        facts = manifest["server"]
        assert facts["metadata"] == {"model": "x"} and facts["repeatable"] is False and facts["batched"] is False
        # Three episodes of five steps, and the first action of a lane that waits.
        assert 15 <= facts["latency"]["requests"] <= 16
        assert "does not announce that it is repeatable" in manifest["notes"][0]
        assert cell.run(remote(server.url)).status == "cached"


def test_a_server_that_changed_since_the_cell_was_planned_fails_it(remote):
    with plain_server(steer(size=1), {"digest": "a"}) as server:
        planned = resolve(remote(server.url))
        assert planned.cell
        server.metadata = {"digest": "b"}
        outcome = cell.run(planned)
    assert outcome.status == "failed" and outcome.traceback == ""
    assert outcome.error == f"{server.url} has changed since the cell was planned: start it again"


def test_an_offer_states_environment_policy_and_what_it_promises(job, remote):
    named = make_offer(serve_config(job.config["policy"]), {"policy": "random"}, ["env=pendulum"])
    facts = named.metadata
    assert facts["env"] == "Pendulum-v1" and facts["policy"] == "random" and facts["repeatable"] is True
    assert facts["observation"] == {"observation": [[3], "<f4"]} and facts["action"] == [[1], "<f4"]
    other = make_offer(serve_config({"_target_": "brittlestar.policies.ConstantPolicy", "action": 0.0}), {}, ["env=x"])
    assert other.metadata["digest"] != facts["digest"]
    # A cell with this server has the rows of the cell with the policy itself.
    here = cell.run(job)
    with endpoint(named.offer, **facts) as server:
        there = remote(server.url)
        assert cell.run(there).status == "done"
        rows = [cell.reuse(resolve(one)).arrays["episodes"] for one in (job, there)]
        assert rows[0].tobytes() == rows[1].tobytes() and here.cell != resolve(there).cell
        assert resolve(there).config["env"]["id"] == "Pendulum-v1"


def test_an_offer_that_cannot_work_is_refused_at_once():
    wrong = {"_target_": "brittlestar.policies.ConstantPolicy", "action": [0.0, 1.0]}
    with pytest.raises(UserError, match="`action` must be one number or fit"):
        make_offer(serve_config(wrong), {}, ["env=pendulum"])
    with pytest.raises(UserError, match="`repeatable` must be null, true or false, got 2"):
        make_offer(serve_config(wrong, repeatable=2), {}, ["env=pendulum"])


def test_a_server_names_the_environment_of_its_policy(job, remote):
    with plain_server(steer(size=1), {"env": "CartPole-v1"}) as server:
        assert resolve(remote(server.url)).config["env"]["id"] == "CartPole-v1"
