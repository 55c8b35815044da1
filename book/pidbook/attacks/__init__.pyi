from .gradient import (
    pgd as pgd,
)
