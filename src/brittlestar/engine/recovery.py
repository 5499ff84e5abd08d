"""Time to failure after the first stress, and time to recover, over all lanes at once."""

import numpy as np

_TOLERANCE = 0.1


class Recovery:
    """Measures recovery step by step.

    A step is stressed when the perturbation changes something in it. Steps before the first stress and after a recovery
    are calm. A lane recovers at the first step without stress whose reward is at least the mean reward of its calm
    steps, less 10 % of it; the time counts from the last stressed step.
    """

    def __init__(self, lanes: int) -> None:
        self._step, self._onset, self._since, self._times, self._recoveries, self._calm_steps = np.zeros((6, lanes))
        self._calm_reward = np.zeros(lanes)
        self._shaken = np.zeros(lanes, dtype=bool)

    def begin(self, lane: int) -> None:
        """Clears a lane."""
        for array in (self._step, self._since, self._times, self._recoveries, self._calm_steps, self._calm_reward):
            array[lane] = 0
        self._onset[lane] = -1
        self._shaken[lane] = False

    def update(self, stressed: np.ndarray, reward: np.ndarray) -> None:
        """Takes one step of every lane: whether it was stressed, and its reward."""
        if stressed.all() and self._shaken.all():
            # Noise without a break: no lane can recover.
            self._step += 1
            self._since[:] = 0.0
            return
        self._onset = np.where(stressed & (self._onset < 0), self._step, self._onset)
        self._step += 1
        self._shaken |= stressed
        self._since = np.where(stressed, 0.0, self._since + self._shaken)
        usual = self._calm_reward / np.maximum(self._calm_steps, 1)
        is_back = reward >= usual - _TOLERANCE * np.abs(usual)
        recovered = self._shaken & ~stressed & is_back & (self._calm_steps > 0)
        self._times += np.where(recovered, self._since, 0.0)
        self._recoveries += recovered
        self._shaken &= ~recovered
        calm = ~self._shaken
        self._calm_steps += calm
        self._calm_reward += np.where(calm, reward, 0.0)

    def values(self, lane: int, length: int, failed: bool) -> dict[str, float]:
        """Returns the metrics of a finished episode; nan without a failure, or without a recovery."""
        time = length - max(self._onset[lane], 0.0) if failed else np.nan
        count = self._recoveries[lane]
        return {"time_to_failure": time, "recovery_time": self._times[lane] / count if count else np.nan}
