"""Maps learnt from random changes of text: the extension beyond the paper."""

from __future__ import annotations

from pidlib.estimation.detection import Detection, Detector, auroc, doubt
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.invariance import SwapFeedback
from pidlib.estimation.layerwise import Estimate
from pidlib.estimation.pretrained import controls, fit_record, load_control, load_controller
from pidlib.estimation.selection import Selection, choose
