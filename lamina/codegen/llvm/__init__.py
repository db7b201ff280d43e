"""Machine code through LLVM; llvmlite is imported only when code is made."""
