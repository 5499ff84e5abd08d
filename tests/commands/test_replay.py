"""The replay command: which episodes it films, that the films play, and one line for a mistake."""

import subprocess
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest

from brittlestar.commands.replay import main
from brittlestar.results.load import read_cells

SWEEP = [
    *("env=cartpole", "env.max_steps=60", "env.success.threshold=60", "env.backend=gymnasium"),
    *("policy=zoo/cartpole_ppo", "perturbation.sigma=0,2", "episodes=6", "videos=1"),
]
HELP = "see `brittlestar replay --help`"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """A small sweep with episodes that only the perturbation makes fail."""
    folder = tmp_path_factory.mktemp("replay")
    command = [sys.executable, "-m", "brittlestar.commands.main", "-m", *SWEEP, "hydra.sweep.dir=sweep"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "sweep"


def frames(path):
    """Returns all frames of a film, by the program that wrote it."""
    words = ["-loglevel", "error", "-i", str(path), "-f", "image2pipe", "-c:v", "ppm", "-"]
    data = subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), *words], capture_output=True, check=True).stdout
    pictures = []
    while data:
        width, height = map(int, data.split(b"\n", 2)[1].split())
        start = len(b"\n".join(data.split(b"\n", 3)[:3])) + 1
        end = start + width * height * 3
        pictures.append(np.frombuffer(data[start:end], np.uint8).reshape(height, width, 3))
        data = data[end:]
    return pictures


def returns(sweep, number):
    return read_cells(sweep)[number].column("return")


def test_a_sweep_ends_with_films_of_the_worst(sweep):
    lowest = int(np.argmin(returns(sweep, 1)))
    assert len(frames(sweep / "films" / f"cell_1_episode_{lowest}.mp4")) == returns(sweep, 1)[lowest]


def test_a_sweep_ends_with_a_film_of_what_only_the_perturbation_makes_fail(sweep):
    (path,) = (sweep / "films").glob("*_beside_clean.mp4")
    episode = int(path.stem.split("_")[3])
    clean, perturbed = (cell.column("success_final")[episode] for cell in read_cells(sweep))
    assert (clean, perturbed) == (1, 0)


def test_a_recording_for_rerun_is_beside_the_film(call, sweep):
    pytest.importorskip("rerun", reason="needs brittlestar[rerun]")
    words = ("--cell", "1", "--episode", "2", "--size", "64", "--rerun", "--side-by-side")
    code, output, error = call(main, str(sweep), *words, "--out", "recordings")
    assert (code, error) == (0, "")
    path = Path("recordings/cell_1_episode_2_beside_clean.rrd")
    assert output.splitlines()[-1] == f"  {path}" and path.read_bytes()[:3] == b"RRF"


def test_an_episode_by_number(call, sweep):
    code, output, error = call(main, str(sweep), "--cell", "1", "--episode", "2", "--size", "200")
    assert (code, error) == (0, "")
    path = sweep / "films" / "cell_1_episode_2.mp4"
    assert output == f"cell 1, episode 2 (as asked for): the recorded row, bit for bit\n  {path}\n"
    film = frames(path)
    assert len(film) == returns(sweep, 1)[2] and film[0].shape[0] == 200
    # The environment moves, and so does what is beside it.
    assert all((film[0][:, part] != film[-1][:, part]).any() for part in (slice(0, 200), slice(200, None)))


def test_the_worst_beside_the_same_episode_without_perturbation(call, sweep, tmp_path):
    words = ["--level", "2", "--worst", "2", "--side-by-side", "--frames", "--size", "120", "--out", str(tmp_path)]
    assert call(main, str(sweep), *words)[0] == 0
    films = sorted(tmp_path.glob("*.mp4"))
    lowest = np.sort(np.argsort(returns(sweep, 1), kind="stable")[:2])
    assert [path.stem for path in films] == [f"cell_1_episode_{i}_beside_clean" for i in lowest]
    film = frames(films[0])
    assert len(film) == returns(sweep, 0)[lowest[0]] and film[0].shape[1] == 2 * (120 + 400)
    assert len(list((tmp_path / films[0].stem).glob("*.png"))) == len(film)


def test_a_long_episode_has_a_frame_for_several_steps_in_both_films(call, sweep, tmp_path, monkeypatch):
    monkeypatch.setattr("brittlestar.reports.films._MOST_FRAMES", 20)
    words = ["--cell", "1", "--episode", "0", "--side-by-side", "--size", "80", "--out", str(tmp_path)]
    code, output, _ = call(main, str(sweep), *words)
    assert code == 0 and returns(sweep, 0)[0] == 60 and "(one frame for 3 steps)" in output
    assert len(frames(next(tmp_path.glob("*.mp4")))) == 20


def test_flipped_episodes_as_a_gif(call, sweep, tmp_path):
    words = ["--flipped", "1", "--gif", "--slow", "2", "--size", "80", "--out", str(tmp_path)]
    code, output, _ = call(main, str(sweep), *words)
    assert code == 0 and "(succeeds clean, fails here)" in output
    assert next(tmp_path.iterdir()).read_bytes()[:4] == b"GIF8"


def test_another_row_is_an_error_that_says_what_changed(call, sweep, monkeypatch):
    from brittlestar.reports import films

    original = films.replay

    def changed(manifest, rows, episode, size, every):
        rows = rows.copy()
        rows[:, list(manifest["columns"]).index("length")] += 1
        return original(dict(manifest) | {"cell": "of other code"}, rows, episode, size, every)

    monkeypatch.setattr(films, "replay", changed)
    code, output, _ = call(main, str(sweep), "--cell", "1", "--episode", "0", "--size", "80")
    assert code == 1 and "not the recorded row: length was " in output
    assert "the code of brittlestar, or a file that the config names, has changed since" in output
    # The page must not show it as the film of the recorded row.
    assert output.splitlines()[-1].strip().endswith("cell_1_episode_0_other.mp4")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--cell", "9"], "there is no cell 9: the cells have the numbers 0 to 1"),
        (["--cell", "1", "--episode", "6"], "the cell has the episodes 0 to 5, got 6"),
        (["--episode", "1"], "`--episode` needs `--cell`"),
        (["--level", "3"], "there is no level 3: the sweep has 0, 2"),
        (["--cell", "0", "--flipped", "1"], "no episode succeeds without the perturbation and fails with it"),
        (
            ["--worst", "0"],
            f"argument --worst: must be a whole number above 0, got '0'; {HELP}",
        ),
        (["--slow", "x"], f"argument --slow: must be a number above 0, got 'x'; {HELP}"),
    ],
)
def test_mistakes_get_one_line(words, line, call, sweep):
    code, output, error = call(main, str(sweep), *words)
    assert code in (1, 2) and (output, error) == ("", f"brittlestar: {line}\n")


def test_a_folder_without_a_sweep(call, tmp_path):
    code, _, error = call(main, str(tmp_path))
    assert code == 1 and error.count("\n") == 1


@pytest.mark.parametrize("size", ["3", "100000"])
def test_a_film_has_a_sensible_size(call, sweep, size):
    code, _, error = call(main, str(sweep), "--size", size)
    assert code != 0 and f"must be 32 to 2000 pixels, got {size}" in error
