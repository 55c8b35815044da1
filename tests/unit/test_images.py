"""Pictures: files are read or refused, spoilt as asked, and attacked within a box."""

import gzip
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from pidbook.attacks import pgd
from pidbook.data import CORRUPTIONS, corrupted, image_batches, load_fashion
from pidbook.image_models import ResidualCNN, load_image_model
from pidlib import PIDController, read_states

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


def test_the_attack_raises_the_loss_within_its_box(network, pictures):
    images, labels = pictures
    moved = pgd(network, images, labels, 0.1, steps=5, batch_size=20)
    assert (moved - images).abs().max() <= 0.1 + 1e-6 and 0 <= moved.min() <= moved.max() <= 1
    with torch.no_grad():
        before, after = (cross_entropy(network(x).logits, labels) for x in (images, moved))
    assert after > before
    assert torch.equal(pgd(network, images, labels, 0.0), images)
    for bad in ({"epsilon": -1.0}, {"epsilon": 0.1, "steps": 0}):
        with pytest.raises(ValueError, match="give at least"):
            pgd(network, images, labels, **bad)
    with pytest.raises(ValueError, match="training mode"):
        pgd(network.train(), images, labels, 0.1)


def test_the_gradient_passes_through_the_control(network, pictures):
    images, labels = pictures
    batches = image_batches(images, labels, 16)
    control = PIDController.from_batches(network, batches, correct_only=False, variance=0.9)
    bare = pgd(network, images[:8], labels[:8], 0.1, steps=2)
    with control.attached(network):
        held = pgd(network, images[:8], labels[:8], 0.1, steps=2)
    assert not torch.equal(bare, held)
