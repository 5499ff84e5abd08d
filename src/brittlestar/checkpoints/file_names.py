"""Names of the files that belong to a checkpoint, as Stable-Baselines3, rl-zoo and the hub write them."""

POLICY = "policy.zip"
"""The acting network alone, as a training of this package exports it."""
STATISTICS = "vecnormalize.pkl"
HUB_STATISTICS = "vec_normalize.pkl"
"""The same file, as rl-zoo names it on the hub."""
SCORES = "evaluations.npz"
HUB_SCORES = "results.json"
ARGUMENTS, SETTINGS, ENV_ARGUMENTS = "args.yml", "config.yml", "env_kwargs.yml"
BEST_MODEL = "best_model.zip"

ACTING = (STATISTICS, HUB_STATISTICS, SCORES, HUB_SCORES)
"""Files next to a zip that change how its policy acts or is checked."""
COMPANIONS = (*ACTING, ARGUMENTS, SETTINGS, ENV_ARGUMENTS)
"""Files next to a zip that belong to it."""
