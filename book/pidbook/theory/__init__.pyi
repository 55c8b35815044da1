from .assumptions import (
    residual_gap as residual_gap,
    violated_errors as violated_errors,
)
from .augmented import (
    Complements as Complements,
    clean_complements as clean_complements,
    history_cost as history_cost,
    history_dense as history_dense,
    history_riccati as history_riccati,
    history_rollout as history_rollout,
)
from .chains import (
    chain_msa as chain_msa,
    chain_sweep as chain_sweep,
    quadratic_loss as quadratic_loss,
)
from .estimates import (
    expected_error as expected_error,
)
from .gains import (
    diagonal_gains as diagonal_gains,
    lambdas as lambdas,
    pair_weights as pair_weights,
    steady as steady,
)
from .law_comparison import (
    averaged_law as averaged_law,
    contest as contest,
    myopic_law as myopic_law,
    relaxed_law as relaxed_law,
    residual_law as residual_law,
)
from .manifolds import (
    bent_curve as bent_curve,
    curve_cloud as curve_cloud,
)
from .plants import (
    Plant as Plant,
    closed_loop as closed_loop,
    respond as respond,
    steady_error as steady_error,
)
from .pontryagin import (
    basic_msa as basic_msa,
    basic_threshold as basic_threshold,
    gradient_msa as gradient_msa,
    hessian_eigenvalues as hessian_eigenvalues,
    history_sweep as history_sweep,
    step_bound as step_bound,
    sweep as sweep,
)
from .riccati import (
    RiccatiSolution as RiccatiSolution,
    cost as cost,
    dense_solution as dense_solution,
    riccati as riccati,
    rollout as rollout,
)
from .systems import (
    LinearSystem as LinearSystem,
    Trajectory as Trajectory,
    conditioned_system as conditioned_system,
    orthogonal_system as orthogonal_system,
    residual_system as residual_system,
    rotating_system as rotating_system,
    simulate as simulate,
    tilted_bases as tilted_bases,
)
from .tucker import (
    Subspace as Subspace,
    TuckerMoments as TuckerMoments,
    energy_off as energy_off,
)
