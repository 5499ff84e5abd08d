"""Tight spheres around meshes, so that MuJoCo compares fewer meshes corner by corner."""

from typing import Any

import numpy as np

_SPARE = 1e-4
"""Metres by which a sphere is larger than needed: more than the error of MuJoCo's distances, 1e-6."""
_CLEARANCE = 0.05
"""Metres between a mesh and a plane in the lowest pose of its joints. A robot that rests on a floor sinks less."""


def tighten_spheres(model: Any, data: Any) -> None:
    """Shrinks the sphere around a mesh to its farthest corner, where no plane is in reach.

    Before MuJoCo searches two parts for contacts, it compares the spheres around them. It makes that of a mesh from
    the mesh's box. Spheres that hold all corners exclude no contact, so every number remains the same. But the size
    of a sphere also decides which corners touch a plane. So meshes that could reach one keep their spheres.
    """
    import mujoco

    planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
    meshes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
    if np.any(model.geom_bodyid[planes] != 0):
        return
    radii = np.array([_radius(model, geom) for geom in meshes])
    for plane in planes:
        normal = data.geom_xmat[plane].reshape(3, 3)[:, 2]
        lowest = _lowest(model, data, data.geom_xpos[plane], normal)
        radii[lowest[meshes] < radii + _CLEARANCE] = np.inf
    model.geom_rbound[meshes] = np.minimum(model.geom_rbound[meshes], radii)


def _radius(model: Any, geom: Any) -> float:
    """Returns the distance of the farthest corner of a mesh from its centre, and a little more."""
    mesh = model.geom_dataid[geom]
    first = model.mesh_vertadr[mesh]
    corners = model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(np.float64)
    return float(np.sqrt((corners * corners).sum(axis=1).max())) + _SPARE


def _lowest(model: Any, data: Any, origin: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Returns how near the centre of each shape can come to a plane, in any pose of its joints.

    Slides without a limit, which are those of a base, are taken as they are.
    """
    heights, turns = (data.xpos - origin) @ normal, np.zeros(model.nbody, dtype=bool)
    for body in range(1, model.nbody):
        parent, first = model.body_parentid[body], model.body_jntadr[body]
        rises = (
            -np.linalg.norm(model.body_pos[body]) if turns[parent] else (data.xpos[body] - data.xpos[parent]) @ normal
        )
        heights[body], turns[body] = heights[parent] + rises, turns[parent]
        for joint in range(first, first + model.body_jntnum[body]):
            lowers, turning = _effect(model, data, joint, None if turns[body] else normal)
            heights[body] -= lowers
            turns[body] |= turning
    bodies = model.geom_bodyid
    rises = (data.geom_xpos - data.xpos[bodies]) @ normal
    return heights[bodies] + np.where(turns[bodies], -np.linalg.norm(model.geom_pos, axis=1), rises)


def _effect(model: Any, data: Any, joint: int, normal: np.ndarray | None) -> tuple[float, bool]:
    """Returns how far a joint can lower the frame of its body, and whether it turns it.

    Without a normal, joints above it may turn its axis in any direction.
    """
    import mujoco

    kinds = mujoco.mjtJoint
    if model.jnt_type[joint] == kinds.mjJNT_FREE:
        return np.inf, True
    if model.jnt_type[joint] != kinds.mjJNT_SLIDE:
        return 2 * float(np.linalg.norm(model.jnt_pos[joint])), True
    if not model.jnt_limited[joint]:
        return 0.0, False
    moves = model.jnt_range[joint] - data.qpos[model.jnt_qposadr[joint]]
    steps = np.abs(moves) if normal is None else -moves * (data.xaxis[joint] @ normal)
    return float(max(0.0, *steps)), False
