from .colours import (
    ATTACKER as ATTACKER,
    ESTIMATE as ESTIMATE,
    INK as INK,
    LOSS as LOSS,
    NOISE as NOISE,
    OURS as OURS,
    PALETTE as PALETTE,
    PAPER as PAPER,
)
from .comparisons import (
    heatmap as heatmap,
)
from .limits import reach as reach
from .plots import (
    curves as curves,
    gain_bar as gain_bar,
    gain_plot as gain_plot,
    name_ends as name_ends,
)
from .radar import (
    radar_choice as radar_choice,
    radar_plotly as radar_plotly,
)
from .slider import (
    slider as slider,
)
from .style import (
    look as look,
    page as page,
    page_and_plot as page_and_plot,
    tidy as tidy,
    use_book_style as use_book_style,
)
from .tables import (
    Table as Table,
    gain_table as gain_table,
    signed as signed,
    table as table,
    verdict_words as verdict_words,
    with_interval as with_interval,
)
