from .gains import (
    alphas as alphas,
    attenuation as attenuation,
    predicted_error as predicted_error,
    rate as rate,
    wiener_c as wiener_c,
)
from .subspaces import (
    Moments as Moments,
    principal_angles as principal_angles,
    rank_for as rank_for,
)
from .wiener import (
    Affine as Affine,
    wiener_map as wiener_map,
)
