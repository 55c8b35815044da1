from .attack import (
    RECIPES as RECIPES,
    attack as attack,
    explain as explain,
)
from .attacker import (
    Explanation as Explanation,
    Step as Step,
)
from .outcomes import (
    AttackCounts as AttackCounts,
    Outcome as Outcome,
    OutcomeFile as OutcomeFile,
    OutcomeLog as OutcomeLog,
    attack_table as attack_table,
    read_outcomes as read_outcomes,
    transfer_rows as transfer_rows,
)
from .synonyms import (
    RESOURCES as RESOURCES,
    SOURCES as SOURCES,
    candidates as candidates,
    words_for as words_for,
)
