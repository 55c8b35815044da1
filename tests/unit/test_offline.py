"""What attacks need is found without a network, whatever the rights of the folders."""

import importlib
import shutil
from types import ModuleType

import nltk
import pytest

import pidlib.attacks.offline as offline
from tests.conftest import printed

HEAVY = {"numpy", "pandas", "pydantic", "scipy", "torch", "transformers"}


def test_a_list_that_others_may_write_is_read_from_a_private_copy(tmp_path, monkeypatch):
    """As after a clone with the umask 002, or from an unpacked archive."""
    shutil.copytree(offline.ASSETS / "nltk", tmp_path / "assets" / "nltk")
    for part in (tmp_path / "assets").rglob("*"):
        part.chmod(0o775 if part.is_dir() else 0o664)
    monkeypatch.setattr(offline, "ASSETS", tmp_path / "assets")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(nltk.data, "path", [])
    offline._offer_function_words(nltk)
    assert [path for path in nltk.data.path if str(tmp_path / "assets") in path] == []
    assert nltk.data.find("corpora/stopwords")


def test_a_list_of_one_s_own_is_read_where_it_lies(tmp_path, monkeypatch):
    shutil.copytree(offline.ASSETS / "nltk", tmp_path / "nltk")
    for part in (tmp_path / "nltk", *(tmp_path / "nltk").rglob("*")):
        part.chmod(0o755 if part.is_dir() else 0o644)
    assert offline._private(tmp_path / "nltk") == tmp_path / "nltk"


READING = "from pidbook.evaluation import load_result\nassert load_result('bench-fit')['counts']"
THEORY = "import pidlib.theory.gains, pidlib.theory.subspaces, pidbook.theory.riccati"
IMPORTS = [
    (READING, HEAVY),
    (THEORY, {"transformers"}),
    ("import pidlib.attacks.attack", {"textattack"}),
]


@pytest.mark.parametrize(("code", "absent"), IMPORTS)
def test_no_more_is_loaded_than_is_needed(code, absent):
    code += f"\nimport sys\nprint({absent} & set(sys.modules))"
    assert printed(code) == "set()\n"


def test_a_module_does_not_hide_a_name_of_its_package():
    for door in ("pidlib", "pidlib.data", "pidlib.evaluation", "pidlib.theory", "pidlib.attacks"):
        package = importlib.import_module(door)
        for name in package.__all__:
            assert not isinstance(getattr(package, name), ModuleType), f"{door}.{name}"
