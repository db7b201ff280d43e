"""The doctor's checks, one kind of fault a file."""

from collections.abc import Callable

from lamina.doctor.checks.broadcasts import BroadcastCheck
from lamina.doctor.checks.carried import CarriedGraphCheck
from lamina.doctor.checks.clearing import ClearingCheck
from lamina.doctor.checks.gradients import GradientCheck
from lamina.doctor.checks.membership import MembershipCheck
from lamina.doctor.checks.modes import ModeCheck
from lamina.doctor.checks.unused import UnusedCheck
from lamina.doctor.checks.values import ValueCheck
from lamina.doctor.events import Check
from lamina.doctor.library import Library

ALL: tuple[Callable[[Library], Check], ...] = (
    ValueCheck,
    MembershipCheck,
    GradientCheck,
    ClearingCheck,
    CarriedGraphCheck,
    ModeCheck,
    BroadcastCheck,
    UnusedCheck,
)
"""In the order in which they look at an event: causes before their consequences."""

__all__ = ["ALL"]
