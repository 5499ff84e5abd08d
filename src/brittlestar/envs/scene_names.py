"""Names of what is in a scene: geoms and sites, their bodies and their materials."""

from fnmatch import fnmatchcase
from typing import Any


def is_chosen(geom: Any, model: Any, names: list[str] | None) -> bool:
    """Returns whether something in a scene has one of some names or patterns; None is everything."""
    return names is None or any(fnmatchcase(n, p) for n in names_of(geom, model) for p in names)


def material_number(geom: Any, model: Any) -> int:
    """Returns a number that things of one material share; without a material, things of one body."""
    return int(geom.matid) if geom.matid >= 0 else model.nmat + _body_of(geom, model)


def _body_of(geom: Any, model: Any) -> int:
    import mujoco

    owners = {mujoco.mjtObj.mjOBJ_SITE: model.site_bodyid, mujoco.mjtObj.mjOBJ_GEOM: model.geom_bodyid}
    return int(owners[geom.objtype][geom.objid]) if geom.objtype in owners else 0


def names_of(geom: Any, model: Any) -> list[str]:
    """Returns the names by which something in a scene can be chosen: its own, its material's, and a geom's body's."""
    import mujoco

    owners = {mujoco.mjtObj.mjOBJ_SITE: model.site, mujoco.mjtObj.mjOBJ_GEOM: model.geom}
    if geom.objtype not in owners:
        return []
    names = [owners[geom.objtype](geom.objid).name, model.mat(geom.matid).name if geom.matid >= 0 else ""]
    if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
        # A site may mark a goal, and belong to the floor.
        names.append(model.body(_body_of(geom, model)).name)
    return [name for name in names if name]
