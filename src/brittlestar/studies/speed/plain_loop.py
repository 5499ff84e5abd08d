"""The sweep as a researcher writes it: one process, `gymnasium.make`, a wrapper, a controller."""

import sys

import gymnasium as gym
import gymnasium_robotics
import numpy as np

gym.register_envs(gymnasium_robotics)


class NoisyObservation(gym.ObservationWrapper):
    """Adds noise to what the policy sees."""

    def __init__(self, env: gym.Env, sigma: float, seed: int) -> None:
        super().__init__(env)
        self.sigma, self.rng = sigma, np.random.default_rng(seed)

    def observation(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Disturbs the entry `observation`."""
        seen = observation["observation"]
        return observation | {"observation": seen + self.sigma * self.rng.standard_normal(seen.shape)}


def success_rate(sigma: float, episodes: int, seed: int = 0) -> float:
    """Returns how many episodes reach the goal at some step."""
    env = NoisyObservation(gym.make("FetchReach-v4"), sigma, seed)
    successes = 0
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed + episode)
        done = success = False
        while not done:
            action = np.zeros(4, dtype=np.float32)
            action[:3] = np.clip(10.0 * (observation["desired_goal"] - observation["observation"][:3]), -1.0, 1.0)
            observation, _, terminated, truncated, info = env.step(action)
            success = success or bool(info["is_success"])
            done = terminated or truncated
        successes += success
    env.close()
    return successes / episodes


if __name__ == "__main__":
    for level in sys.argv[2].split(","):
        print(level, success_rate(float(level), int(sys.argv[1])))
