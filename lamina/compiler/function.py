"""`compile`: functions that are captured when first called, and run as programs from then on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, final

from lamina import errors
from lamina.compiler.arguments import described, of_args
from lamina.compiler.building import CannotCompile, build
from lamina.compiler.capturing import Recording, Refusal, record_call
from lamina.compiler.guards import Guards
from lamina.compiler.program import Program
from lamina.compiler.reach import Reach
from lamina.compiler.report import Report
from lamina.core.blame.words import this_place
from lamina.core.modes import door, state
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.devices import CPU

MOST_PROGRAMS: Final = 32
CALLS_IN_A_ROW: Final = 8
"""For which the same program must have fitted before calls go unasked to the function as it is."""

CALLS_UNASKED: Final = 64
"""How many do so before the next one asks again. They are right in any case: they run eagerly."""

MOST_ATTEMPTS: Final = 2
"""How often a call that set up state runs eagerly in the hope that the next one can be captured."""


@final
class CompiledFunction:
    """A function that runs as compiled programs, one for each situation it is called in.

    Attributes:
        programs: The programs, the last used first.
        splits: For each program but the first: why none of the earlier ones fitted.
        refusals: Why calls ran eagerly.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._fullgraph = fullgraph
        self.programs: list[Program] = []
        self.splits: list[str] = []
        self.refusals: list[str] = []
        self._eager: list[tuple[Any, Any]] = []
        self._attempts: dict[str, int] = {}
        self._has_warned = False
        self._in_a_row = 0
        self._unasked = 0

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._unasked:
            self._unasked -= 1
            return self._function(*args, **kwargs)
        # Inside another capture, among others. Autocast is a part of what a program is made for.
        if (door.is_watched and not _only_autocast()) or state.pack_hooks:
            return self._function(*args, **kwargs)
        tensors: list[Tensor] = []
        description = described((args, kwargs), tensors) if kwargs else of_args(args, tensors)
        for program in self.programs:
            arrays = program.guards.arrays(description, tensors)
            if arrays is not None:
                if program is not self.programs[0]:
                    self.programs.remove(program)
                    self.programs.insert(0, program)
                    self._in_a_row = 0
                if not program.is_worth_it:
                    return self._as_it_is(program, args, kwargs)
                return program.run(tensors, arrays)
        return self._without_program(args, kwargs, description, tensors)

    # --- no program fits -------------------------------------------------------------------------

    def _without_program(
        self, args: Any, kwargs: Any, description: Any, tensors: list[Tensor]
    ) -> Any:
        if self._is_eager(description, tensors):
            return self._function(*args, **kwargs)
        if len(self.programs) >= MOST_PROGRAMS:
            refusal = Refusal(
                f"it has {MOST_PROGRAMS} programs already, the last because "
                f"{self.programs[0].guards.mismatch(description, tensors)}"
            )
            return self._eagerly(args, kwargs, description, tensors, refusal)
        made = self._compiled(args, kwargs, description, tensors)
        if isinstance(made, Refusal):
            return self._eagerly(args, kwargs, description, tensors, made)
        arrays = made.guards.arrays(description, tensors)
        if arrays is None:
            why = made.guards.mismatch(description, tensors)
            refusal = Refusal(f"its own guards do not hold: {why}")
            return self._eagerly(args, kwargs, description, tensors, refusal)
        if self.programs:
            why = self.programs[0].guards.mismatch(description, tensors) or "a guard failed"
            self.splits.append(why)
        self.programs.insert(0, made)
        self._in_a_row = 0
        if not made.is_worth_it:
            return self._as_it_is(made, args, kwargs)
        return made.run(tensors, arrays)

    def _as_it_is(self, program: Program, args: Any, kwargs: Any) -> Any:
        """Run the function itself, since its program would take longer."""
        program.runs += 1
        self._in_a_row += 1
        if self._in_a_row >= CALLS_IN_A_ROW:
            self._unasked = CALLS_UNASKED
        return self._function(*args, **kwargs)

    def _compiled(
        self, args: Any, kwargs: Any, description: Any, tensors: list[Tensor]
    ) -> Program | Refusal:
        """Capture a call and compile it; the call itself is still to be made."""
        if any(tensor.device is not CPU for tensor in tensors):
            return Refusal("only tensors on the CPU are compiled")
        objects: list[Any] = []
        described((args, kwargs), [], objects)
        reach = Reach().walk(
            [(self._function, _name(self._function)), *((o, "argument") for o in objects)]
        )
        may_set = self._attempts.get("gradients", 0) > 0
        found: Recording | Refusal = Refusal("")
        for with_settings in (True, False) if reach.settings else (True,):
            if not with_settings:
                reach.watch_settings()
            found = record_call(
                self._function, args, kwargs, tensors, reach, with_settings, may_set
            )
            if isinstance(found, Recording):
                break
            # Such a call runs eagerly, and the next one is captured: no need to try otherwise.
            if found.may_pass and self._attempts.get(_kind(found), 0) < MOST_ATTEMPTS:
                break
        if isinstance(found, Refusal):
            return found
        try:
            parts = build(found)
        except CannotCompile as reason:
            return Refusal(str(reason))
        gradients = [*(tensor for tensor, _ in found.gradients), *reach.optimized]
        targets = parts.backward.targets if parts.backward is not None else ()
        guards = Guards(description, tensors, reach, parts.inputs, gradients, targets)
        return Program(found, parts, guards)

    # --- eagerly ---------------------------------------------------------------------------------

    def _is_eager(self, description: Any, tensors: list[Tensor]) -> bool:
        """Whether such a call was refused before."""
        shapes = [(t._array.shape, t._array.dtype, t._requires_grad) for t in tensors]
        return (description, shapes) in self._eager

    def _eagerly(
        self, args: Any, kwargs: Any, description: Any, tensors: list[Tensor], refusal: Refusal
    ) -> Any:
        """Run a call that was not captured, or say why not."""
        key = _kind(refusal)
        if refusal.may_pass and self._attempts.get(key, 0) < MOST_ATTEMPTS:
            self._attempts[key] = self._attempts.get(key, 0) + 1
            self.refusals.append(f"once, since {refusal.reason}")
            return self._function(*args, **kwargs)
        if self._fullgraph:
            raise _as_error(self._function, refusal) from None
        self.refusals.append(refusal.reason)
        shapes = [(t._array.shape, t._array.dtype, t._requires_grad) for t in tensors]
        self._eager.append((description, shapes))
        if not self._has_warned:
            result = self._function(*args, **kwargs)  # an error of its own comes first
            self._has_warned = True
            warn(_as_warning(self._function, refusal))
            return result
        return self._function(*args, **kwargs)

    # --- looking at it ---------------------------------------------------------------------------

    def explain(self) -> Report:
        """Which programs there are, which guard split them, what they do and what they use."""
        return Report(self)

    def program(self) -> str:
        """The text of the program that ran last."""
        if not self.programs:
            return "no program yet: call the function first"
        return str(self.programs[0].parts.executable.schedule)

    def __repr__(self) -> str:
        return f"<compiled {_name(self._function)}: {len(self.programs)} programs>"


def _only_autocast() -> bool:
    """Whether nobody stands at the door but this thread's autocast."""
    return door.is_watched == 1 and state.autocast is not None


def _kind(refusal: Refusal) -> str:
    return "gradients" if "gradients" in refusal.reason else "state"


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


_HELP: Final = (
    "keep it a tensor inside the function (`torch.where` instead of `if`), and read it outside",
    "or leave out `fullgraph=True`, which lets such calls run eagerly",
)


def _as_error(function: Any, refusal: Refusal) -> Exception:
    error = refusal.error
    if error is None:
        return errors.CaptureError(
            f"{_name(function)} cannot be compiled: {refusal.reason}",
            [(this_place(), "called here")],
            _HELP[1:],
        )
    if isinstance(error, errors.CaptureError) or not isinstance(error, Exception):
        return error
    if isinstance(error, errors.LaminaError):
        return error
    if type(error).__module__.startswith("lamina"):
        return errors.CaptureError(
            f"{_name(function)} cannot be compiled: {error}",
            [(this_place(), "called here")],
            _HELP,
        )
    return error


def _as_warning(function: Any, refusal: Refusal) -> Warning:
    notes = [note for note in getattr(refusal.error, "notes", ()) if note[0] is not None]
    return errors.CaptureWarning(
        f"{_name(function)} runs eagerly: {refusal.reason}",
        notes or [(this_place(), "called here")],
        getattr(refusal.error, "help", ()) or _HELP[:1],
    )
