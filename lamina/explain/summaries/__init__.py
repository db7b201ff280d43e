"""`summary`: tensors and modules at a glance."""

from lamina.explain.summaries.modules import ModuleSummary
from lamina.explain.summaries.summary import summary
from lamina.explain.summaries.tensors import TensorSummary

__all__ = ["ModuleSummary", "TensorSummary", "summary"]
