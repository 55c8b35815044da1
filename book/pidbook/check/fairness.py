"""Exercises on answers that should not depend on a group of persons."""

from __future__ import annotations

from pidbook.check.judge import Answer, Cases, exercise


@exercise("the shared part is (a + b) / 2; the eraser shrinks both, the other law it alone")
def gap_left(answer: Answer) -> Cases:
    """Check a function (a, b, gain) -> difference a - b left by the eraser, and by the other law."""
    for a, b, gain in ((1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, -1.0, 0.5), (0.3, -0.7, 0.25)):
        yield ((1 - gain) * (a - b), a - b), answer(a, b, gain)
    return "what two words share goes, what sets them apart stays"
