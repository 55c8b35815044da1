"""A classical plant under P, I and D: a mass on a spring, with push, noise and target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Response(NamedTuple):
    """What a controlled plant did, for every triple of gains."""

    time: np.ndarray
    output: np.ndarray
    control: np.ndarray
    integral: np.ndarray


@dataclass(frozen=True)
class Plant:
    """Mass on a spring: m y'' = -k y - b y' + u + w.

    Attributes
    ----------
    mass : float
        m, above 0.
    damping : float
        b, at least 0.
    stiffness : float
        k, at least 0; at 0 nothing pulls the mass back.

    Examples
    --------
    >>> Plant(mass=1.0, damping=0.4, stiffness=1.0).mass
    1.0

    Source: equation dynamics-plant.
    """

    mass: float = 1.0
    damping: float = 0.4
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a plant that cannot be."""
        if not (self.mass > 0 and self.damping >= 0 and self.stiffness >= 0):
            raise ValueError(
                f"mass {self.mass}, damping {self.damping}, stiffness {self.stiffness}: the mass "
                "must be positive, the others not negative"
            )

    def step(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact map (2, 2) of (y, y') over a time step h, and the effect (2,) of a constant force."""
        A = np.array([[0.0, 1.0], [-self.stiffness / self.mass, -self.damping / self.mass]])
        B = np.array([[0.0], [1.0 / self.mass]])
        from scipy.signal import cont2discrete  # slow to import

        exact, push, *_ = cont2discrete((A, B, np.eye(2), np.zeros((2, 1))), h)
        return exact, push[:, 0]


def steady_error(
    plant: Plant, proportional: float, target: float = 1.0, push: float = 0.0
) -> float:
    """Error that proportional control leaves for ever.

    Parameters
    ----------
    plant : Plant
    proportional : float
        Gain K_p, at least 0.
    target, push : float
        Reference r and constant disturbance w.

    Returns
    -------
    float
        r - y at rest: (k r - w) / (k + K_p).

    Raises
    ------
    ValueError
        A negative gain, or no force at all (k + K_p = 0).

    Examples
    --------
    >>> steady_error(Plant(stiffness=1.0), proportional=4.0)
    0.2

    Source: section 1.1, made exact; equation dynamics-offset.
    """
    total = plant.stiffness + proportional
    if proportional < 0 or total == 0:
        raise ValueError(
            f"gain {proportional} with stiffness {plant.stiffness}: the gain must not be negative, "
            "and one of them must be positive"
        )
    return (plant.stiffness * target - push) / total


def respond(
    plant: Plant,
    proportional: ArrayLike = 0.0,
    integral: ArrayLike = 0.0,
    derivative: ArrayLike = 0.0,
    target: float = 1.0,
    push: float = 0.0,
    push_from: float = 0.0,
    noise: float = 0.0,
    duration: float = 30.0,
    h: float = 0.05,
    seed: int = 0,
) -> Response:
    """Run the plant from rest under a PID controller.

    u = K_p e + K_i h sum(e) + K_d (e - e_before) / h with e = r - (y + noise), held
    constant over each step.

    Parameters
    ----------
    plant : Plant
    proportional, integral, derivative : arrays that broadcast to one shape S
        Gains; every combination given runs at once.
    target : float
        Reference r, from time 0.
    push, push_from : float
        Constant disturbance, and the time from which it acts.
    noise : float
        Standard deviation of the measurement noise of each sample.
    duration, h : float
        Length of the run and time step, above 0.
    seed : int
        Of the noise; the same noise for all gains.

    Returns
    -------
    Response
        `time` (n,), and `output`, `control` and `integral` of the error, (n, *S) arrays.

    Raises
    ------
    ValueError
        Gains that do not broadcast, or a duration, step or noise out of range.

    Examples
    --------
    >>> run = respond(Plant(), proportional=[1.0, 4.0], duration=60.0)
    >>> (1 - run.output[-1]).round(3)        # the offset k / (k + K_p)
    array([0.5, 0.2])

    Source: section 1.1; equation dynamics-pid. Departure: e is signed; the paper's is a norm.
    """
    if not (duration > 0 and h > 0 and noise >= 0):
        raise ValueError(
            f"duration {duration}, step {h}, noise {noise}: give positive times, no negative noise"
        )
    K_p, K_i, K_d = np.broadcast_arrays(proportional, integral, derivative)
    (A, B), random = plant.step(h), np.random.default_rng(seed)
    time = h * np.arange(round(duration / h) + 1)
    state, total, before, rows = np.zeros((2, *K_p.shape)), np.zeros(K_p.shape), None, []
    for now in time:
        error = target - (state[0] + noise * random.standard_normal())
        total = total + h * error
        slope = 0.0 if before is None else (error - before) / h
        before = error
        u = K_p * error + K_i * total + K_d * slope
        rows.append((state[0], u, total))
        force = u + (push if now >= push_from else 0.0)
        state = np.tensordot(A, state, axes=1) + np.multiply.outer(B, force)
    return Response(time, *np.array(rows).swapaxes(0, 1))


def closed_loop(plant: Plant, gains: tuple[float, float, float], h: float = 0.05) -> np.ndarray:
    """Matrix of the controlled plant's step, on (y, y', sum of errors, last error).

    Parameters
    ----------
    plant : Plant
    gains : (K_p, K_i, K_d)
    h : float
        Time step.

    Returns
    -------
    (4, 4) array
        Without target, push and noise. Stable if all eigenvalues lie inside the unit
        circle; an integral that is not used adds one eigenvalue 1.

    Examples
    --------
    >>> poles = np.linalg.eigvals(closed_loop(Plant(), (1.0, 0.0, 0.0)))
    >>> bool(abs(poles).max() <= 1)
    True

    Source: equations dynamics-plant, dynamics-pid.
    """
    A, B = plant.step(h)
    K_p, K_i, K_d = gains
    # u = -(K_p + K_i h + K_d / h) y + K_i total - (K_d / h) last, with error e = -y
    row = np.array([-(K_p + K_i * h + K_d / h), 0.0, K_i, -K_d / h])
    plant_rows = np.hstack([A, np.zeros((2, 2))]) + np.outer(B, row)
    return np.vstack([plant_rows, [-h, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
