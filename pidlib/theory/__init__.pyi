from .assumptions import (
    leak as leak,
)
from .assumptions import (
    residual_gap as residual_gap,
)
from .assumptions import (
    violated_errors as violated_errors,
)
from .augmented import (
    Complements as Complements,
)
from .augmented import (
    clean_complements as clean_complements,
)
from .augmented import (
    fitted_complements as fitted_complements,
)
from .augmented import (
    history_cost as history_cost,
)
from .augmented import (
    history_dense as history_dense,
)
from .augmented import (
    history_riccati as history_riccati,
)
from .augmented import (
    history_rollout as history_rollout,
)
from .chains import (
    chain_msa as chain_msa,
)
from .chains import (
    chain_sweep as chain_sweep,
)
from .chains import (
    quadratic_loss as quadratic_loss,
)
from .gains import (
    alphas as alphas,
)
from .gains import (
    attenuation as attenuation,
)
from .gains import (
    generalised_error as generalised_error,
)
from .gains import (
    lambdas as lambdas,
)
from .gains import (
    predicted_error as predicted_error,
)
from .gains import (
    rate as rate,
)
from .gains import (
    steady as steady,
)
from .gains import (
    wiener_c as wiener_c,
)
from .law_comparison import (
    averaged_law as averaged_law,
)
from .law_comparison import (
    bent_contest as bent_contest,
)
from .law_comparison import (
    contest as contest,
)
from .law_comparison import (
    myopic_law as myopic_law,
)
from .law_comparison import (
    relaxed_law as relaxed_law,
)
from .law_comparison import (
    residual_law as residual_law,
)
from .manifolds import bent_curve as bent_curve
from .manifolds import curve_cloud as curve_cloud
from .plants import (
    Plant as Plant,
)
from .plants import (
    closed_loop as closed_loop,
)
from .plants import (
    respond as respond,
)
from .plants import (
    steady_error as steady_error,
)
from .pontryagin import (
    basic_msa as basic_msa,
)
from .pontryagin import (
    basic_threshold as basic_threshold,
)
from .pontryagin import (
    gradient_msa as gradient_msa,
)
from .pontryagin import (
    heavy_ball as heavy_ball,
)
from .pontryagin import (
    hessian_eigenvalues as hessian_eigenvalues,
)
from .pontryagin import (
    history_sweep as history_sweep,
)
from .pontryagin import (
    step_bound as step_bound,
)
from .pontryagin import (
    sweep as sweep,
)
from .projections import diagonal_gains as diagonal_gains
from .projections import pair_weights as pair_weights
from .riccati import (
    RiccatiSolution as RiccatiSolution,
)
from .riccati import (
    cost as cost,
)
from .riccati import (
    dense_solution as dense_solution,
)
from .riccati import (
    riccati as riccati,
)
from .riccati import (
    rollout as rollout,
)
from .subspaces import (
    Moments as Moments,
)
from .subspaces import (
    Subspace as Subspace,
)
from .subspaces import (
    energy_off as energy_off,
)
from .subspaces import (
    hosvd as hosvd,
)
from .subspaces import (
    principal_angles as principal_angles,
)
from .subspaces import (
    rank_for as rank_for,
)
from .systems import (
    LinearSystem as LinearSystem,
)
from .systems import (
    Trajectory as Trajectory,
)
from .systems import (
    conditioned_system as conditioned_system,
)
from .systems import (
    orthogonal_system as orthogonal_system,
)
from .systems import (
    residual_system as residual_system,
)
from .systems import (
    rotating_system as rotating_system,
)
from .systems import (
    simulate as simulate,
)
from .systems import (
    tilted_bases as tilted_bases,
)
from .wiener import (
    Affine as Affine,
)
from .wiener import (
    estimates_over_depth as estimates_over_depth,
)
from .wiener import (
    expected_error as expected_error,
)
from .wiener import (
    invariance_tradeoff as invariance_tradeoff,
)
from .wiener import (
    parallel_sum as parallel_sum,
)
from .wiener import (
    simulated_errors as simulated_errors,
)
from .wiener import (
    wiener_map as wiener_map,
)
