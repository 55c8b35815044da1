"""Means beyond the paper: maps learnt from random changes of text, and what stands before a model."""

from __future__ import annotations

from pidlib.estimation.detection import Detection, Detector, auroc, doubt
from pidlib.estimation.encoding import AgreedCandidates, SynonymEncoding, word_counts
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.invariance import SwapFeedback
from pidlib.estimation.layerwise import Estimate
from pidlib.estimation.preprocessing import NormalisedTokenizer, Preprocessing
from pidlib.estimation.pretrained import controls, fit_record, load_control, load_controller
from pidlib.estimation.selection import Selection, choose
from pidlib.estimation.spelling import SpellingNormaliser
