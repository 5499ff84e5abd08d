import pytest

from brittlestar.cells.job import Job
from brittlestar.studies.stress.agents import agent_key, reference_pass


@pytest.mark.parametrize(
    ("training", "words", "expected"),
    [(3, ["++policy.training=${seed}"], ["++policy.training=3"]), (None, ["policy=random"], ["policy=random"])],
)
def test_a_reference_pass_is_of_the_training_of_its_cell(training, words, expected):
    cell = Job({"env": {}, "policy": {"training": training}, "mitigation": {}, "seed": 3}, overrides=["seed=3", *words])
    job = reference_pass(cell, 300)
    assert [text for text in job.overrides if "policy" in text] == expected
    assert agent_key(job.config) == agent_key(cell.config)
