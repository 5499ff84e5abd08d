"""Films as MP4 (H.264) or GIF."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.errors import UserError

_COLOURS = "chroma-qp-offset=-12"
"""Colours at full quality: otherwise the colour of a letter remains for some frames after it has changed."""


def write_film(path: Path, frames: Iterable[np.ndarray], rate: float) -> None:
    """Writes frames `(height, width, 3)` as a film; the suffix `.mp4` or `.gif` decides the format.

    Args:
        path: the file.
        frames: at least one, all of the same size with even sides.
        rate: frames per second.
    """
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    write_file(path, lambda file: write(file, iter(frames), rate))


def _write_mp4(file: Any, frames: Any, rate: float) -> None:
    import imageio_ffmpeg  # type: ignore[import-untyped]

    first = next(frames)
    height, width = first.shape[:2]
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-", "-an", "-c:v", "libx264", "-preset", "veryfast",
        "-crf", "20", "-x264-params", _COLOURS, "-pix_fmt", "yuv420p", "-threads", "1", "-fflags", "+bitexact",
        "-flags:v", "+bitexact", "-movflags", "+faststart", "-f", "mp4", file.name,
    ]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stderr is not None
    try:
        process.stdin.write(np.ascontiguousarray(first).tobytes())
        for frame in frames:
            process.stdin.write(np.ascontiguousarray(frame).tobytes())
    except BrokenPipeError:
        pass
    finally:
        _, error = process.communicate()
    if process.returncode:
        raise UserError(f"ffmpeg cannot write the film: {' '.join(error.decode(errors='replace').split())}")


def _write_gif(file: Any, frames: Any, rate: float) -> None:
    from PIL import Image

    pictures = [Image.fromarray(frame).quantize(128) for frame in frames]
    # A viewer shows no GIF faster than 50 frames per second.
    duration = max(20, round(1000 / rate))
    pictures[0].save(file, format="GIF", save_all=True, append_images=pictures[1:], duration=duration, loop=0)
