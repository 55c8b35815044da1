from .colours import (
    ESTIMATE as ESTIMATE,
)
from .colours import (
    INK as INK,
)
from .colours import (
    LOSS as LOSS,
)
from .colours import (
    NOISE as NOISE,
)
from .colours import (
    OURS as OURS,
)
from .colours import (
    PALETTE as PALETTE,
)
from .colours import (
    PAPER as PAPER,
)
from .colours import (
    SEEN as SEEN,
)
from .comparisons import dumbbells as dumbbells
from .comparisons import gain_panels as gain_panels
from .comparisons import heatmap as heatmap
from .diagram import network_diagram as network_diagram
from .plots import (
    curves as curves,
)
from .plots import (
    gain_bar as gain_bar,
)
from .plots import (
    gain_plot as gain_plot,
)
from .plots import (
    name_ends as name_ends,
)
from .radar import (
    radar_choice as radar_choice,
)
from .radar import (
    radar_grid as radar_grid,
)
from .radar import (
    radar_plotly as radar_plotly,
)
from .slider import slider as slider
from .style import look as look
from .style import tidy as tidy
from .style import use_book_style as use_book_style
from .tables import Table as Table
from .tables import counts_table as counts_table
from .tables import table as table
