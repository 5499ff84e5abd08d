"""The stack around a policy (`Parts`), the episodes to run (`Plan`), and the one call that runs them (`evaluate`)."""

from brittlestar import lazily

_HOMES = {"evaluation": "evaluate make_lanes", "perturbed_env": "PerturbedEnv", "plan": "Plan Rows", "stack": "Parts"}

# Imported on use: commands that need only the number of cores load no simulator.
__getattr__, __dir__ = lazily(__name__, _HOMES)
