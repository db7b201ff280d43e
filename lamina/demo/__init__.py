"""`lamina demo`: the leaf rules, a classifier trained on handwritten digits, and its gradients."""

from lamina.demo.leaf_rules import show_leaf_rules
from lamina.demo.training import show_training

__all__ = ["show_leaf_rules", "show_training"]
