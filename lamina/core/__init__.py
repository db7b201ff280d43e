"""The engine room: tensors, the graph, the backward engine and the op record. Knows no op by name."""
