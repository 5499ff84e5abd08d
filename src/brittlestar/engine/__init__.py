"""The stack around a policy, the lanes that it runs in, and what is measured on the way.

Contents:
    evaluate, make_lanes: the one call that evaluates a policy, and the lanes that it runs in.
    Parts, Stack: policy, mitigation, perturbation, environment, and back.
    Plan, Rows: which episodes to run, and the rows that they give.
    PerturbedEnv: the stack around one Gymnasium environment.
"""

from brittlestar import lazily

_HOMES = {
    "evaluation": "evaluate make_lanes",
    "perturbed_env": "PerturbedEnv",
    "plan": "Plan Rows",
    "stack": "Parts Stack",
}

# Imported on use: commands that need only the number of cores load no simulator.
__getattr__, __dir__ = lazily(__name__, _HOMES)
