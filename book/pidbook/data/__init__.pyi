from .groups import (
    GroupSwap as GroupSwap,
)
from .images import (
    CLOTHES as CLOTHES,
    CORRUPTIONS as CORRUPTIONS,
    corrupted as corrupted,
    image_batches as image_batches,
    load_fashion as load_fashion,
)
