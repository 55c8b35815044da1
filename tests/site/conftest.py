"""The site that `make stored` built, read as text."""

from __future__ import annotations

import pytest

from book import STORED


@pytest.fixture(scope="session")
def site():
    if not (STORED / "index.html").exists():
        pytest.fail("there is no site to test; run: make stored")
    return STORED
