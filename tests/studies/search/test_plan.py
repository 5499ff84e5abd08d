"""The course of a search on a simulated policy."""

from dataclasses import replace

import numpy as np
import pytest

from brittlestar.cells.job import Job
from brittlestar.results.load import Cell
from brittlestar.studies.search.plan import SEARCH, Course, Settings, search
from brittlestar.studies.search.space import search_space
from brittlestar.studies.search.tables import search_verdict

NODE = {"_target_": "brittlestar.perturbations.ComposedPerturbation", "scale": 1.0, "only": "all"}
SIGMAS = [f"perturbation.parts.{name}.sigma" for name in ("a", "b", "c")]


def failure_rate(values: dict, critical: float = 0.1) -> float:
    """The parts add up: each alone breaks the policy at the same level."""
    total = sum(values.get(key, 0.0) for key in SIGMAS) if values.get("perturbation.scale", 1.0) else 0.0
    return 1 / (1 + np.exp(-60 * (total - critical)))


def run(seed: int, critical: float = 0.1):
    """Runs a whole search; an episode fails at random, independently of all others."""
    noise = {"_target_": "brittlestar.perturbations.GaussianObservation", "sigma": 0.05}
    config = {"perturbation": NODE | {"parts": {name: dict(noise) for name in ("a", "b", "c")}}, "seed": seed}
    plan = search(Course(Job(config), Settings(30, 100, 0.5)), search_space(config, [], {}))
    random, cells = np.random.default_rng(seed), None
    while True:
        try:
            trials = plan.send(cells)
        except StopIteration as end:
            return end.value
        cells = [simulated(trial.values, random, critical) for trial in trials]


def simulated(values: dict, random: np.random.Generator, critical: float) -> Cell:
    success = random.random((values.get("episodes", 30), 1)) >= failure_rate(values, critical)
    manifest = {"status": "done", "measure": "success_any", "columns": ["success_any"], "config": values}
    return Cell(manifest, held=success.astype(float))


@pytest.mark.parametrize("repetitions", [25, pytest.param(300, marks=pytest.mark.slow)])
def test_the_confirmed_rate_is_unbiased_although_the_searched_one_is_not(repetitions):
    errors, searched, hits = [], [], []
    for seed in range(repetitions):
        found = run(seed).found[SEARCH]
        truth = failure_rate(found.found.values)
        errors.append(found.share - truth)
        hits.append(found.interval[0] <= truth <= found.interval[1])
        if found.found.share is not None:
            searched.append(found.found.share - truth)
    assert abs(np.mean(errors)) < 3 * 0.05 / np.sqrt(repetitions)
    assert np.mean(hits) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / repetitions)
    assert repetitions < 100 or np.mean(searched) > 3 * np.std(searched) / np.sqrt(len(searched))


def test_a_policy_that_fails_already_and_one_that_never_fails_have_a_line_each():
    incapable, robust = run(0, critical=-0.1), run(0, critical=10.0)
    assert search_verdict(incapable).startswith("incapable: it fails in 100% of the episodes") and not incapable.tried
    assert (
        search_verdict(robust)
        == "nothing breaks it within the ranges: no combination among 60 points fails often enough"
    )
    assert [unit.breaks for unit in robust.units] == [False] * 3


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.9, "from nominal breaks it ("),
        (0.55, "from nominal may break it ("),
        (0.1, "broke it in the search, but not"),
    ],
)
def test_the_sentence_claims_what_fresh_seeds_confirm(share, text):
    outcome = run(0)
    outcome.found[SEARCH] = replace(outcome.found[SEARCH], share=share, episodes=40)
    assert text in search_verdict(outcome)


def test_random_draws_that_break_a_policy_are_named_where_the_search_finds_nothing():
    outcome = run(0)
    outcome.found[SEARCH] = None
    assert search_verdict(outcome).startswith("the search finds nothing that breaks it among 30 points; the best of 30")


def test_parts_that_do_not_run_end_the_search_with_their_reason(monkeypatch):
    failed = Cell({"status": "failed", "error": "GaussianAction needs a Box action space"})
    real = simulated

    def refused(values, random, critical):
        return failed if values.get("role") == "unit" else real(values, random, critical)

    monkeypatch.setitem(globals(), "simulated", refused)
    assert search_verdict(run(0)) == "no search: its parts do not run: GaussianAction needs a Box action space"
