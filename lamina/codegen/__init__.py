"""The compiler's back half: recorded programs become graphs, graphs become machine code."""
