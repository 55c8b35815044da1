"""Pictures: files are read or refused, and spoilt as asked."""

import gzip
from pathlib import Path

import pytest
import torch

from pidbook.data import CORRUPTIONS, corrupted, load_fashion
from pidbook.image_models import ResidualCNN, load_image_model
from pidlib import read_states

SHIPPED = Path(__file__).resolve().parents[2] / "book" / "results" / "vision"


@pytest.fixture(scope="module")
def pictures():
    return load_fashion("train", 48, folder=SHIPPED)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return ResidualCNN(depth=3, channels=8).eval()


def test_the_pictures_that_ship_are_read(pictures):
    images, labels = pictures
    assert images.shape == (48, 1, 28, 28) and 0 <= images.min() < images.max() <= 1
    later, of = load_fashion("train", 8, start=40, folder=SHIPPED)
    assert torch.equal(later, images[40:]) and torch.equal(of, labels[40:])
    assert len(load_fashion(folder=SHIPPED)[0]) == 64


def test_what_is_no_data_set_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FASHION_MNIST_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="make fashion.*FASHION_MNIST_DIR"):
        load_fashion()
    with pytest.raises(ValueError, match="unknown split 'dev'"):
        load_fashion("dev")
    with pytest.raises(ValueError, match="70 are wanted"):
        load_fashion(n=70, folder=SHIPPED)
    for raw in (b"", b"words and no numbers", bytes([0, 0, 8, 1, 0, 0, 0, 9]) + bytes(20)):
        (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(raw))
        with pytest.raises(ValueError, match="no IDX file"):
            load_fashion()


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_spoilt_pictures_stay_pictures(pictures, kind):
    images = pictures[0]
    assert torch.equal(corrupted(images, kind, 0), images)
    weak, strong = (corrupted(images, kind, s) for s in (0.2, 2.0))
    for of in (weak, strong):
        assert of.shape == images.shape and of.dtype == images.dtype
        assert 0 <= of.min() and of.max() <= 1
    assert (strong - images).norm() > (weak - images).norm() > 0
    assert torch.equal(weak, corrupted(images, kind, 0.2))


def test_a_shift_moves_whole_pixels_and_a_turn_keeps_the_middle():
    dot = torch.zeros(64, 1, 28, 28)
    dot[:, :, 13:15, 13:15] = 1
    turned, moved = corrupted(dot, "rotation", 90.0), corrupted(dot, "shift", 3.0)
    assert torch.allclose(turned, dot, atol=1e-5)
    places = torch.arange(28.0)
    ends = [(moved.sum(1).sum(k) * places).sum(1) / 4 - 13.5 for k in (1, 2)]
    assert torch.allclose(ends[0] ** 2 + ends[1] ** 2, torch.full((64,), 9.0), atol=0.01)


def test_wrong_ways_to_spoil_are_named():
    for kind, strength, text in (("fog", 1, "unknown corruption 'fog'"), ("blur", -1, "is -1")):
        with pytest.raises(ValueError, match=text):
            corrupted(torch.zeros(1, 1, 28, 28), kind, strength)


def test_blocks_of_the_network_keep_one_shape(network, pictures):
    states = read_states(network, {"pixel_values": pictures[0][:2]})
    assert [tuple(x.shape) for x in states.values] == [(2, 49, 8)] * 4
    assert states.logits.shape == (2, 10)


@pytest.mark.parametrize("name", ["cnn", "vit"])
def test_the_networks_that_ship_know_clothes(name):
    model, (images, labels) = load_image_model(SHIPPED / name), load_fashion(folder=SHIPPED)
    with torch.inference_mode():
        assert (model(images).logits.argmax(1) == labels).float().mean() > 0.75
