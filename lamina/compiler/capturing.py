"""Capturing a call: run it once on traced arrays, see what it did, and put everything back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from lamina import errors
from lamina.compiler import sources
from lamina.compiler.arguments import rebuilt
from lamina.compiler.existing import Existing, NotCaptured
from lamina.compiler.gradients import Derivative, capture_gradients
from lamina.compiler.outside import Outside
from lamina.compiler.reach import Reach
from lamina.compiler.watching import PLAIN
from lamina.core.capture import capture
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import next_stamp
from lamina.devices import NoValues, device
from lamina.devices.recording import Ref
from lamina.devices.traced import Recorder, TracedArray
from lamina.dtypes import dtype

_PASSED_ON = (*PLAIN, Size, dtype, device)


@final
class Refusal(NamedTuple):
    """Why a call was not captured.

    Attributes:
        reason: One sentence.
        error: What was raised, if anything was.
        may_pass: Whether another attempt may succeed: the call set up state it will find next time.
    """

    reason: str
    error: Exception | None = None
    may_pass: bool = False


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


@final
@dataclass(slots=True)
class Result:
    """A tensor that a call gave: one from outside, or one around an array that it computed.

    Attributes:
        tensor: The tensor from outside,
        argument: or its number among the arguments.
        ref: The array, for a computed one.
        origin: Where it was made, for gradients.
        requires: Whether it is a leaf that requires grad.
        output: Its number among the results with a derivative.
    """

    tensor: Tensor | None = None
    argument: int | None = None
    ref: Ref | None = None
    origin: Any = None
    requires: bool = False
    output: int | None = None


@final
@dataclass(slots=True)
class Recording:
    """A captured call.

    Attributes:
        recorder: With the program, and the arrays it read.
        sources: Where each input of the program comes from; None for a constant.
        nest: What the call returned, with a `Result` for each tensor.
        results: All computed results, those of gradients included.
        gradients: The tensors whose `.grad` becomes another one, or None.
        derivative: The backward pass from the results.
        is_used_up: Whether results require grad but their graph was used up inside.
        owners: For each input the tensors that have its array.
        changes: The tensors (or numbers of arguments) changed in place, and how often.
        forward: How many of the program's steps the call took, without the derivative's.
    """

    recorder: Recorder
    sources: list[sources.Source | None]
    nest: Any
    results: list[Result]
    gradients: list[tuple[Tensor, Result | None]]
    derivative: Derivative | None = None
    is_used_up: bool = False
    owners: list[list[Tensor]] = field(default_factory=list)
    changes: list[tuple[Tensor | int, int]] = field(default_factory=list)
    forward: int = 0


def record_call(
    call: Callable[..., Any], args: Any, kwargs: Any, tensors: Sequence[Tensor], reach: Reach,
    with_settings: bool = True, may_set_gradients: bool = True,
) -> Recording | Refusal:  # fmt: skip
    """Capture one call. Nothing is computed, and nothing outside is changed.

    Args:
        tensors: The tensors among the arguments.
        reach: The state that the call depends on.
        with_settings: Whether numbers of optimizers become inputs.
        may_set_gradients: Whether a first `.grad` is accepted.
    """
    if reach.iterator is not None:
        return Refusal(f"it may take the next item of {reach.iterator}, which cannot be put back")
    outside = Outside(reach.streams)
    existing = Existing([*tensors, *(tensor for tensor, _ in reach.tensors.values())])
    symbols = _lift_settings(reach) if with_settings else {}
    start = next_stamp()
    try:
        with capture() as recorder:
            returned = call(*args, **kwargs)
            trouble = outside.trouble()
            if trouble is not None:
                raise _Refused(Refusal(trouble))
            work = _Reading(recorder, existing, tensors, reach, symbols, start)
            _put_settings_back(symbols)
            change = reach.changed_anywhere()
            if change is not None:
                raise _Refused(Refusal(f"it changed Python state: {change}", may_pass=True))
            return work.read(returned, may_set_gradients)
    except _Refused as stop:
        return stop.refusal
    except (errors.CaptureError, NoValues, errors.NotSupported, NotCaptured) as error:
        return Refusal(getattr(error, "headline", str(error)), error)
    except Exception as error:
        return Refusal(f"{type(error).__name__} while capturing: {error}", error)
    finally:
        _put_settings_back(symbols)
        outside.restore()
        existing.restore()
        reach.restore()


def _lift_settings(reach: Reach) -> dict[int, tuple[Any, ...]]:
    """Put a tensor in the place of each number that is read at run; by id of the tensor."""
    symbols: dict[int, tuple[Any, ...]] = {}
    for group, key, name in reach.settings:
        symbol = wrap(np.array(float(group[key])), None)
        symbols[id(symbol)] = symbol, group, key, name, group[key]
        group[key] = symbol
    return symbols


def _put_settings_back(symbols: dict[int, tuple[Any, ...]]) -> None:
    for symbol, group, key, _, number in symbols.values():
        if group.get(key) is symbol:
            group[key] = number


@final
class _Reading:
    """Reads off what a call did, while its capture is still open."""

    def __init__(
        self, recorder: Recorder, existing: Existing, tensors: Sequence[Tensor], reach: Reach,
        symbols: dict[int, tuple[Any, ...]], start: int,
    ) -> None:  # fmt: skip
        self.recorder = recorder
        self.existing = existing
        self.tensors = tensors
        self.reach = reach
        self.symbols = symbols
        self.start = start
        self.results: list[Result] = []
        self.returned: list[Tensor] = []  # the tensors of `results`
        self.made: dict[int, Result] = {}

    def read(self, returned: Any, may_set_gradients: bool) -> Recording:
        """All that happened; raises `_Refused` for what a program cannot do again."""
        gradients = self._gradients(may_set_gradients)
        nest = self._nest(returned)
        forward = len(self.recorder.program.steps)
        derivative, is_used_up = self._derivative()
        trouble = self.existing.trouble()
        if trouble is not None:
            raise _Refused(Refusal(trouble))
        arrays = self.recorder.inputs
        return Recording(
            self.recorder, [self._source(a) for a in arrays], nest, self.results, gradients,
            derivative, is_used_up, [self.existing.owners.get(id(a), []) for a in arrays],
            [(self._place_of(tensor), count) for tensor, count in self.existing.changes()], forward,
        )  # fmt: skip

    def _place_of(self, tensor: Tensor) -> Tensor | int:
        """A tensor from outside, or its number among the arguments."""
        return next((k for k, other in enumerate(self.tensors) if other is tensor), tensor)

    # --- inputs ----------------------------------------------------------------------------------

    def _source(self, array: Any) -> sources.Source | None:
        for symbol, group, key, name, _ in self.symbols.values():
            if symbol._array is array:
                return sources.Setting(group, key, name)
        owners = self.existing.owners.get(id(array), [])
        for tensor in owners:
            for index, argument in enumerate(self.tensors):
                if argument is tensor and id(tensor) not in self.reach.tensors:
                    return sources.Argument(index, f"argument {index}")
        for tensor in owners:
            owner = self.existing.grad_owner.get(id(tensor))
            if owner is not None:
                return sources.Gradient(owner, f"{self._name(owner)}.grad")
        known = [tensor for tensor in owners if id(tensor) in self.reach.tensors]
        for tensor in [*known, *owners]:
            return sources.Reached(tensor, self._name(tensor))
        for held, name in self.reach.arrays:
            if (array is held or array.base is held) and isinstance(array, np.ndarray):
                return sources.Memory(array, name)
        return None

    def _name(self, tensor: Tensor) -> str:
        return self.reach.tensors.get(id(tensor), (None, "a tensor"))[1]

    # --- results ---------------------------------------------------------------------------------

    def _nest(self, returned: Any) -> Any:
        _check_passed_on(returned)
        return rebuilt(returned, self._result)

    def _result(self, tensor: Tensor) -> Result:
        known = self.made.get(id(tensor))
        if known is not None:
            return known
        if id(tensor) in self.symbols:
            raise _Refused(Refusal("it returns a setting of an optimizer", may_pass=True))
        if tensor in self.existing:
            place = self._place_of(tensor)
            result = Result(argument=place) if isinstance(place, int) else Result(tensor=place)
            self.made[id(tensor)] = result
            return result
        array = tensor._array
        if isinstance(array, np.ndarray):
            array = self.recorder.input(array)
        if not isinstance(array, TracedArray):
            raise _Refused(Refusal(f"it returns a tensor on {tensor.device}"))
        requires = tensor._requires_grad and tensor._node is None
        return self._computed(tensor, Result(ref=array.ref, requires=requires))

    def _computed(self, tensor: Tensor, result: Result) -> Result:
        self.made[id(tensor)] = result
        self.results.append(result)
        self.returned.append(tensor)
        return result

    def _gradients(self, may_set: bool) -> list[tuple[Tensor, Result | None]]:
        found: list[tuple[Tensor, Result | None]] = []
        for tensor in self.existing.new_gradients():
            grad = tensor._grad
            if grad is None:
                found.append((tensor, None))
                continue
            if not isinstance(grad._array, TracedArray):
                raise _Refused(Refusal("`.grad` was set to a tensor that was not computed inside"))
            if grad._requires_grad:
                raise _Refused(Refusal("`.grad` has a history of its own (create_graph=True)"))
            if not may_set and self.existing.had_no_gradient(tensor):
                raise _Refused(Refusal("it collects the first gradients", may_pass=True))
            result = Result(ref=grad._array.ref, origin=grad._origin)
            found.append((tensor, self._computed(grad, result)))
        return found

    def _derivative(self) -> tuple[Derivative | None, bool]:
        """The backward pass from all results that were computed from something."""
        computed: list[Tensor] = []
        for tensor, result in zip(self.returned, self.results, strict=True):
            if tensor._requires_grad and tensor._node is not None:
                result.output = len(computed)
                computed.append(tensor)
        if not computed:
            return None, False
        found = capture_gradients(self.recorder, computed, self.existing, self.start)
        return found, found is None


def _check_passed_on(value: Any) -> None:
    if isinstance(value, tuple | list):
        for item in value:
            _check_passed_on(item)
    elif isinstance(value, dict):
        _check_passed_on(list(value.values()))
    elif not isinstance(value, (Tensor, *_PASSED_ON)):
        raise _Refused(Refusal(f"it returns a {type(value).__name__}"))
