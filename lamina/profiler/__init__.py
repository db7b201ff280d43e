"""What a program's time goes to: `profile`, `record_function`, and tables by operation.

| file | what it holds |
|---|---|
| `clock.py` | times operations, derivative rules and named blocks while a profiler runs |
| `events.py` | what was timed: single events, and sums by name |
| `table.py` | sums as text |
| `session.py` | `profile`: when the clock runs, and what becomes of its events |
"""

from lamina.profiler.clock import record_function
from lamina.profiler.session import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
