"""Pictures and tables of the book."""

from pidlib.figures.colours import ESTIMATE, INK, LOSS, NOISE, OURS, PALETTE, PAPER, SEEN
from pidlib.figures.comparisons import dumbbells, gain_panels, heatmap
from pidlib.figures.diagram import network_diagram
from pidlib.figures.plots import curves, gain_bar, gain_plot, name_ends
from pidlib.figures.radar import radar_choice, radar_grid, radar_plotly
from pidlib.figures.slider import slider
from pidlib.figures.style import look, tidy, use_book_style
from pidlib.figures.tables import Table, counts_table, table
