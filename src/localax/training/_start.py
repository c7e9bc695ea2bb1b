"""Where a run starts: initialisers by name or as objects, and the state of a run that goes on."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError, setting_error
from ..networks import INITIALISERS, AbstractInitialiser, AbstractNetwork, Given, Parameters, Xavier, seed_keys
from ..spec import built
from ..trajectory import Trajectory
from ._loop import beginning


def chosen_starts(init: Any) -> tuple[list[AbstractInitialiser], bool]:
    """The starts, and whether they are swept: a list of starts, or a list of scales."""
    if isinstance(init, list | tuple) and any(_is_start(item) for item in init):
        return [_start(item) for item in init], True
    if isinstance(init, AbstractInitialiser) and (each := init.each()) is not None:
        return each, True
    return [_start(init)], False


def _is_start(item: Any) -> bool:
    """Whether an item of a list is a start of its own; rows of plain numbers are parts of one array."""
    array = isinstance(item, np.ndarray | jax.Array) and item.ndim > 0
    return array or isinstance(item, AbstractInitialiser | str)


def _start(init: Any) -> AbstractInitialiser:
    if isinstance(init, Trajectory):
        raise SettingError("train: init must be an initialiser or an array; to go on with a run use lx.resume")
    if isinstance(init, AbstractInitialiser):
        if init.each() is not None:
            raise setting_error("train", "init", init, "one start per setting, without lists of scales inside a list")
        return init
    if isinstance(init, str):
        return built(INITIALISERS, "init", init)
    return Xavier() if init is None else Given(init)


def first_parameters(network: AbstractNetwork, starts, seeds, shape, dtype, width: int) -> Parameters:
    """Parameters at the start, with leading axes [setting,] seed."""
    made = [_drawn(network, start, seeds, shape, dtype) for start in starts]
    made = made * width if len(made) == 1 and width else made
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *made) if width else made[0]


def _drawn(network: AbstractNetwork, start: AbstractInitialiser, seeds, shape, dtype) -> Parameters:
    keys = seed_keys(seeds)
    weights = start.weights(keys, network.units, shape, dtype)
    parameters = beginning(network, weights, seeds)
    biases = start.first_biases(keys, network.units, dtype)
    if biases is None:
        return parameters
    if parameters.biases is None:
        raise setting_error("train", "init", "biases", "weights alone for a network without trained biases")
    return eqx.tree_at(lambda p: p.biases, parameters, biases)


def last_parameters(parameters: Parameters, before: Trajectory) -> Parameters:
    """The last state of a run, in all that its network trains; the form is that of its first parameters."""
    last = {"weights": before.weights, "biases": before.biases, "readout": before.readout}
    last["constant"] = before.records.get("constant")
    axis = 1 if before.n_swept is None else 2
    for name, values in last.items():
        fresh = getattr(parameters, name)
        if fresh is None or values is None:
            continue
        final = np.take(values, -1, axis=axis)
        if final.shape not in (fresh.shape, fresh.shape[1:]):  # new rates go on from one state
            raise setting_error("resume", name, f"shape {final.shape}", f"of shape {fresh.shape} for this network")
        kept = jnp.broadcast_to(jnp.asarray(final, fresh.dtype), fresh.shape)
        parameters = eqx.tree_at(lambda p, n=name: getattr(p, n), parameters, kept)
    return parameters


def by_stream(parameters: Parameters, streams: int, lead: int) -> Parameters:
    """The same with an axis of streams before the seeds that share one, where there are several."""
    if streams == 1:
        return parameters

    def split(leaf):
        return leaf.reshape(*leaf.shape[:lead], streams, -1, *leaf.shape[lead + 1 :])

    return jax.tree.map(split, parameters)
