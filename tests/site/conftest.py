"""The site that `make book` built, read as text."""

from __future__ import annotations

import pytest

from book import SITE


@pytest.fixture(scope="session")
def site():
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site to test; run: make book")
    return SITE
