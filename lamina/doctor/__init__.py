"""The doctor: watches a training program, and tells what is wrong with it."""

from lamina.doctor.findings import Fault, Finding
from lamina.doctor.watching import Doctor, say

__all__ = ["Doctor", "Fault", "Finding", "say"]
