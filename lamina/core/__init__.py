"""The engine room: tensors, graph, backward engine and op record. Knows no op by name."""
