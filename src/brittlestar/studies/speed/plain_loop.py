"""The sweep as a researcher writes it: one process, `gymnasium.make`, a wrapper, a controller."""

import sys

import gymnasium as gym
import gymnasium_robotics
import numpy as np

gym.register_envs(gymnasium_robotics)


def success_rate(sigma: float, episodes: int) -> float:
    """Returns how many episodes reach the goal at some step."""
    rng = np.random.default_rng(0)

    def noisy(observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        state = observation["observation"]
        return observation | {"observation": state + sigma * rng.standard_normal(state.shape)}

    env = gym.wrappers.TransformObservation(gym.make("FetchReach-v4"), noisy, None)
    successes = 0
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
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
