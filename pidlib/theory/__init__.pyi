from .gains import (
    alphas as alphas,
    attenuation as attenuation,
    generalised_error as generalised_error,
    lambdas as lambdas,
    predicted_error as predicted_error,
    rate as rate,
    steady as steady,
    wiener_c as wiener_c,
)
from .projections import (
    diagonal_gains as diagonal_gains,
    pair_weights as pair_weights,
)
from .riccati import (
    RiccatiSolution as RiccatiSolution,
    cost as cost,
    dense_solution as dense_solution,
    riccati as riccati,
    rollout as rollout,
)
from .subspaces import (
    Moments as Moments,
    Subspace as Subspace,
    energy_off as energy_off,
    hosvd as hosvd,
    principal_angles as principal_angles,
    rank_for as rank_for,
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
from .wiener import (
    Affine as Affine,
    estimates_over_depth as estimates_over_depth,
    expected_error as expected_error,
    parallel_sum as parallel_sum,
    simulated_errors as simulated_errors,
    wiener_map as wiener_map,
)
