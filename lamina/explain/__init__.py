"""The explainer: `why(t)` says in plain words what is the matter with a tensor."""

from lamina.explain.answer import why
from lamina.explain.causes import Cause
from lamina.explain.explanation import Explanation

__all__ = ["Cause", "Explanation", "why"]
