"""The bent curve: closed forms of its coordinates and of its second moment."""

import math

import numpy as np
import pytest

from pidbook.theory.manifolds import bent_curve, curve_cloud
from tests.conftest import refusals


def test_three_coordinates_are_the_edge_of_a_saddle():
    s = np.linspace(0, 7, 30)
    wanted = np.stack([np.cos(s), np.sin(s), 0.4 * np.cos(2 * s)], axis=1)
    assert np.allclose(bent_curve(s, 0.4), wanted, atol=1e-12)
    # seen from the side it is a parabola
    assert np.allclose(wanted[:, 2], 0.4 * (2 * wanted[:, 0] ** 2 - 1))


@pytest.mark.parametrize("bend", [0.0, 0.3, 0.9, 1.0])
def test_second_moment_is_diagonal_with_a_geometric_spectrum(bend):
    s = np.arange(400) * 2 * np.pi / 400  # harmonics below 200 are exactly orthogonal here
    points = bent_curve(s, bend, dims=50)
    wanted = np.repeat(0.5 * bend ** (2.0 * np.arange(25)), 2)
    assert np.allclose(points.T @ points / 400, np.diag(wanted), atol=1e-12)


def test_the_frame_keeps_lengths_and_holds_the_curve():
    cloud = curve_cloud(50, 0.6, 0.0, seed=3, width=20)
    assert np.allclose(cloud.frame.T @ cloud.frame, np.eye(3), atol=1e-12)
    assert np.allclose(cloud.points @ cloud.frame @ cloud.frame.T, cloud.points, atol=1e-12)
    own = cloud.points @ cloud.frame
    assert np.allclose(np.hypot(own[:, 0], own[:, 1]), 1.0)
    assert np.array_equal(curve_cloud(9, 0.6, 0.0, seed=3).frame, np.eye(3))


def test_noise_has_the_asked_size_in_every_coordinate():
    cloud = curve_cloud(20000, 0.6, 0.1, seed=1, width=6)
    assert (cloud.points - cloud.clean).std(axis=0) == pytest.approx(0.1, rel=0.03)
    again = curve_cloud(20000, 0.6, 0.1, seed=1, width=6)
    assert np.array_equal(cloud.points, again.points)


BAD_INPUT = [
    (lambda: bent_curve(0.0, -0.1), "the bend is -0.1"),
    (lambda: bent_curve(0.0, 1.5), "the bend is 1.5"),
    (lambda: bent_curve(0.0, math.nan), "the bend is nan"),
    (lambda: bent_curve(0.0, 0.5, dims=1), "dims is 1"),
    (lambda: curve_cloud(0, 0.5, 0.1, seed=0), "n is 0"),
    (lambda: curve_cloud(5, 0.5, 0.1, seed=0, width=2), "width is 2, less than the 3"),
    (lambda: curve_cloud(5, 0.5, -1, seed=0), "the noise is -1"),
]


test_bad_input_is_named = refusals(BAD_INPUT)
