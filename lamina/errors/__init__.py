"""Every error and warning that a user can meet, each with a code.

An error names the places in the user's source that matter and a repair; see `places.render`.
Each class is a `LaminaError` or a `LaminaWarning`, and also the builtin exception that PyTorch
raises, so that programs written for PyTorch catch what they expect. They stand in one file a theme,
which is loaded when one of them is first needed; `index` lists them by their codes, and
docs/errors.md shows each with a program that meets it.
"""

# fmt: off
# ruff: isort: skip_file

from typing import TYPE_CHECKING

from lamina.late_loading import late_names

from .base import Diagnostic, LaminaError, LaminaWarning
from .index import INDEX
from .places import Note, Place, render

if TYPE_CHECKING:
    from .codes import CODES
    from .extras import (
        CaptureError, CaptureWarning, EmptyFile, FileFormatError, InternalError,
        MissingExtra, NotSupported, ProfilerMisuse, SaveFailed, UnsafeFile,
    )
    from .functions import (
        BackwardNotWritten, ContextMisuse, InvalidGradient, LegacyFunction, OnceDifferentiable,
        SaveForBackwardMisuse, WrongNumberOfGradients,
    )
    from .graph import (
        CheckpointMismatch, CheckpointWarning, CreateGraphWarning, GradAssignmentMismatch,
        GradcheckFailed, GradNotATensor, GradShapeMismatch, GraphFreed, HookResultInvalid,
        NanGradient, NoGraph, NonScalarRoot, NotAGraphTensor, NotDifferentiable, UnusedInput,
    )
    from .imports import MissingImport, MissingModule, MissingName, TorchIsLoaded
    from .kinds import (
        ArgumentTypeError, DeviceMismatch, DtypeError, InvalidDevice, InvalidDtype,
        InvalidThreadCount, NoData, NotImplementedForDtype, NumpyOfDeviceTensor, OutOfMemoryError,
        SimulatedCudaUnavailable, UnsupportedData,
    )
    from .leaves import (
        CopyConstructWarning, DeepcopyOfNonLeaf, EmptyParameterList, HookRefused, MissingAttribute,
        ModuleNotInitialized, NonLeafGradWarning, NonLeafOptimized, NotALeafFlag, NotAParameter,
        NumpyOfRequiringTensor, OptimizerArgumentError, RequiresGradDtype, RetainGradRefused,
        ScalarConversionWarning, StateDictMismatch,
    )
    from .loading import (
        CollateMismatch, CollateMissingKey, DatasetMismatch, DatasetWarning, WorkerFailed,
    )
    from .operators import (
        InvalidSchema, LibraryNotLoaded, NoAutogradFormula, NoFakeKernel, NoOperatorKernel,
        OperatorCallError, OperatorCheckFailed, OperatorNotDefined, OperatorResultError,
        SchemaNotInferred,
    )
    from .values import (
        AmbiguousTruth, BatchMismatch, ConcatenationMismatch, DimensionOutOfRange, DoubtfulValue,
        EmptyReduction, IndexOutOfRange, InvalidArgument, InvalidIndex, InvalidValue, LayerMismatch,
        LinAlgError, LoopedMapWarning, MatmulShapeMismatch, NegativeSize, NotAScalar, RaggedData,
        ReshapeMismatch, ShapeMismatch, UnknownStrategy, ViewStrideMismatch, WriteShapeMismatch,
        ZeroDimensional,
    )
    from .writes import (
        CastRefused, DataMismatch, DetachOfView, FunctionViewModified, InferenceTensorError,
        LeafModified, MultiViewModified, NoGradViewModified, OutWithGrad, OverlappingWrite,
        ResizeRefused, SavedValueModified, ViewOfLeafModified,
    )

_HOMES = {f"lamina.errors.{file}": " ".join(names.values()) for file, names in INDEX.items()}
__getattr__, __dir__ = late_names(__name__, _HOMES | {"lamina.errors.codes": "CODES"})


__all__ = [
    "AmbiguousTruth", "ArgumentTypeError",
    "BackwardNotWritten", "BatchMismatch",
    "CODES", "CaptureError", "CaptureWarning", "CastRefused", "CheckpointMismatch",
    "CheckpointWarning", "CollateMismatch", "CollateMissingKey", "ConcatenationMismatch",
    "ContextMisuse", "CopyConstructWarning", "CreateGraphWarning",
    "DataMismatch", "DatasetMismatch", "DatasetWarning", "DeepcopyOfNonLeaf", "DetachOfView",
    "DeviceMismatch", "Diagnostic", "DimensionOutOfRange", "DoubtfulValue",
    "DtypeError",
    "EmptyFile", "EmptyParameterList", "EmptyReduction",
    "FileFormatError", "FunctionViewModified",
    "GradAssignmentMismatch", "GradNotATensor", "GradShapeMismatch", "GradcheckFailed",
    "GraphFreed",
    "HookRefused", "HookResultInvalid",
    "IndexOutOfRange", "InferenceTensorError", "InternalError", "InvalidArgument",
    "InvalidDevice", "InvalidDtype", "InvalidGradient", "InvalidIndex", "InvalidSchema",
    "InvalidThreadCount", "InvalidValue",
    "LaminaError", "LaminaWarning", "LayerMismatch", "LeafModified", "LegacyFunction",
    "LibraryNotLoaded", "LinAlgError", "LoopedMapWarning",
    "MatmulShapeMismatch", "MissingAttribute", "MissingExtra", "MissingImport", "MissingModule",
    "MissingName", "ModuleNotInitialized", "MultiViewModified",
    "NanGradient", "NegativeSize", "NoAutogradFormula", "NoData", "NoFakeKernel",
    "NoGradViewModified", "NoGraph", "NoOperatorKernel", "NonLeafGradWarning", "NonLeafOptimized",
    "NonScalarRoot", "NotAGraphTensor", "NotALeafFlag", "NotAParameter",
    "NotAScalar", "NotDifferentiable", "NotImplementedForDtype", "NotSupported", "Note",
    "NumpyOfDeviceTensor", "NumpyOfRequiringTensor",
    "OnceDifferentiable", "OperatorCallError", "OperatorCheckFailed", "OperatorNotDefined",
    "OperatorResultError",
    "OptimizerArgumentError", "OutOfMemoryError", "OutWithGrad",
    "OverlappingWrite",
    "Place", "ProfilerMisuse",
    "RaggedData", "RequiresGradDtype", "ReshapeMismatch", "ResizeRefused", "RetainGradRefused",
    "SaveFailed", "SaveForBackwardMisuse", "SavedValueModified", "ScalarConversionWarning",
    "SchemaNotInferred",
    "ShapeMismatch", "SimulatedCudaUnavailable", "StateDictMismatch",
    "TorchIsLoaded",
    "UnknownStrategy", "UnsafeFile", "UnsupportedData", "UnusedInput",
    "ViewOfLeafModified", "ViewStrideMismatch",
    "WorkerFailed", "WriteShapeMismatch", "WrongNumberOfGradients",
    "ZeroDimensional",
    "render",
]
