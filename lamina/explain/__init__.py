"""The explainer: `why(t)` says in plain words what is the matter with a tensor."""

from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation
from lamina.explain.why import why

__all__ = ["Cause", "Explanation", "why"]
