from .attack import RECIPES as RECIPES
from .attack import attack as attack
from .attack import explain as explain
from .attacker import Explanation as Explanation
from .attacker import Step as Step
from .gradient import pgd as pgd
from .inflections import parts_of_speech as parts_of_speech
from .outcomes import (
    AttackCounts as AttackCounts,
)
from .outcomes import (
    Outcome as Outcome,
)
from .outcomes import (
    OutcomeFile as OutcomeFile,
)
from .outcomes import (
    OutcomeLog as OutcomeLog,
)
from .outcomes import (
    attack_table as attack_table,
)
from .outcomes import (
    read_outcomes as read_outcomes,
)
from .outcomes import (
    transfer_rows as transfer_rows,
)
from .synonyms import (
    RESOURCES as RESOURCES,
)
from .synonyms import (
    SOURCES as SOURCES,
)
from .synonyms import (
    candidates as candidates,
)
from .synonyms import (
    words_for as words_for,
)
