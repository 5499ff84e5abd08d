"""The study that cells name, built once for all of them."""

import pytest

from brittlestar.errors import UserError
from brittlestar.reports.sections import analyse, studies_of
from brittlestar.studies.stress.study import StressPhases

NONE = {"_target_": "brittlestar.studies.base.Study"}
STRESS = {"_target_": "brittlestar.studies.stress.study.StressPhases", "reference": 300, "scoring": "rigorous"}


def cells(make_cell, *nodes):
    return [make_cell(seed=seed, config={"study": node}) for seed, node in enumerate(nodes)]


def test_every_study_gets_its_own_cells(make_cell):
    made = cells(make_cell, NONE, STRESS, STRESS, None)
    (_, first), (study, second) = studies_of(made, {"scoring": "compat_1_4"})
    assert first == made[:1] and second == made[1:3]
    assert study == StressPhases(300, "compat_1_4")


def test_cells_without_a_study_have_no_sections(make_cell, tmp_path):
    assert analyse(studies_of(cells(make_cell, NONE, None), {}), tmp_path) == ([], [])


def test_values_that_differ_need_a_choice(make_cell):
    made = cells(make_cell, STRESS, STRESS | {"scoring": "compat_1_0"})
    with pytest.raises(
        UserError, match="several `study.scoring`: compat_1_0, rigorous; choose by `study.scoring=VALUE`"
    ):
        studies_of(made, {})
    ((study, _),) = studies_of(made, {"scoring": "compat_1_0"})
    assert study.scoring == "compat_1_0"


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            {"_target_": "trap_study.Trap"},
            "the study trap_study.Trap: if you trust its code, add `--import trap_study`",
        ),
        ({"_target_": "os.system", "command": "ls"}, "name a study that is none: os.system"),
        (STRESS | {"scoring": {"_target_": "os.getcwd"}}, "a study that is none: .*StressPhases, os.getcwd"),
        (
            {"_target_": "brittlestar.config.build.locate", "path": "trap_study.Trap", "where": ""},
            "a study that is none",
        ),
    ],
)
def test_the_files_of_a_sweep_run_no_code(make_cell, tmp_path, monkeypatch, marker, node, message):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trap_study.py").write_text(f"import pathlib; pathlib.Path({str(marker)!r}).touch()")
    with pytest.raises(UserError, match=message):
        studies_of(cells(make_cell, node), {})


def test_an_unknown_setting_names_the_nearest(make_cell):
    with pytest.raises(UserError, match="`study.scorin` does not exist in these sweeps; did you mean `scoring`"):
        studies_of(cells(make_cell, STRESS), {"scorin": "rigorous"})


def test_a_setting_needs_a_study(make_cell):
    with pytest.raises(UserError, match="`study.scoring` does not exist: these sweeps have no study with settings"):
        studies_of(cells(make_cell, NONE, None), {"scoring": "rigorous"})
