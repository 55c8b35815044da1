"""Mathematics of control: gains, Riccati equations, subspaces; nothing here knows transformers."""

from pidlib.theory.assumptions import leak, residual_gap, violated_errors
from pidlib.theory.augmented import (
    Complements,
    clean_complements,
    fitted_complements,
    history_cost,
    history_dense,
    history_riccati,
    history_rollout,
)
from pidlib.theory.chains import chain_msa, chain_sweep, quadratic_loss
from pidlib.theory.gains import (
    alphas,
    attenuation,
    generalised_error,
    lambdas,
    predicted_error,
    rate,
    steady,
    wiener_c,
)
from pidlib.theory.law_comparison import (
    averaged_law,
    bent_contest,
    contest,
    myopic_law,
    relaxed_law,
    residual_law,
)
from pidlib.theory.manifolds import bent_curve, curve_cloud
from pidlib.theory.plants import Plant, closed_loop, respond, steady_error
from pidlib.theory.pontryagin import (
    basic_msa,
    basic_threshold,
    gradient_msa,
    heavy_ball,
    hessian_eigenvalues,
    history_sweep,
    step_bound,
    sweep,
)
from pidlib.theory.projections import diagonal_gains, pair_weights
from pidlib.theory.riccati import RiccatiSolution, cost, dense_solution, riccati, rollout
from pidlib.theory.subspaces import (
    Moments,
    Subspace,
    energy_off,
    hosvd,
    principal_angles,
    rank_for,
)
from pidlib.theory.systems import (
    LinearSystem,
    Trajectory,
    conditioned_system,
    orthogonal_system,
    residual_system,
    rotating_system,
    simulate,
    tilted_bases,
)
from pidlib.theory.wiener import (
    Affine,
    estimates_over_depth,
    expected_error,
    invariance_tradeoff,
    parallel_sum,
    simulated_errors,
    wiener_map,
)
