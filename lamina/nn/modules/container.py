"""Modules that hold others. The place where PyTorch has them."""

from lamina.nn.containers import Container, ModuleDict, ModuleList, Sequential
from lamina.nn.parameter_containers import ParameterDict, ParameterList

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
