from brittlestar.results.failures import failure_groups


def test_failures_are_grouped_by_reason():
    overrides = [f"policy.path='my agent.zip' p={p} seed={seed} env=cartpole" for p in (0, 1) for seed in (0, 1)]
    rows = [{"error": "too long" if "p=1" in text else "broken", "overrides": text} for text in overrides]
    rows.append({"error": "broken", "overrides": "p=0 seed=2 env=cartpole"})
    assert failure_groups(rows) == [
        {"cells": 3, "error": "broken", "overrides": "p=0 env=cartpole", "first": "policy.path='my agent.zip' seed=0"},
        {
            "cells": 2,
            "error": "too long",
            "overrides": "policy.path='my agent.zip' p=1 env=cartpole",
            "first": "seed=0",
        },
    ]
    assert failure_groups([{"error": "broken", "overrides": ""}])[0] == {
        "cells": 1, "error": "broken", "overrides": "", "first": "",
    }  # fmt: skip
    assert failure_groups([]) == []
