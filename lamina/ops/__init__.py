"""The catalogue of operations, one statement each; files are named by chapter."""
