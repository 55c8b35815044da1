from .attacks.attack import attack as attack
from .data.nli import load_nli as load_nli
from .data.perturbations import RandomEdits as RandomEdits
from .estimation.estimator import Estimator as Estimator
from .estimation.pretrained import load_controller as load_controller
from .evaluation.fair_trial import fair_trial as fair_trial
from .hooks import find_blocks as find_blocks, read_states as read_states
from .models import load_model as load_model, training_record as training_record
from .pid import PIDController as PIDController

__version__: str
