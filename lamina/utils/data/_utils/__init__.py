"""The loader's parts: making batches, reading samples, workers that do both."""
