"""What may help: filters on actions and on observations."""

from brittlestar.mitigations.base import Mitigation
from brittlestar.mitigations.low_pass import LowPass

__all__ = ["LowPass", "Mitigation"]
