"""The index of errors and warnings: the file of this folder in which each stands, by its code."""

from __future__ import annotations

from typing import Final

__all__ = ["INDEX"]

INDEX: Final = {
    "leaves": {
        # leaves and requires_grad
        "L101": "NotALeafFlag",
        "L102": "RequiresGradDtype",
        "L103": "NonLeafOptimized",
        "L104": "EmptyParameterList",
        "L105": "RetainGradRefused",
        "L106": "HookRefused",
        "L107": "DeepcopyOfNonLeaf",
        "L108": "NumpyOfRequiringTensor",
        "L109": "NotAParameter",
        "L110": "NonLeafGradWarning",
        "L111": "CopyConstructWarning",
        "L112": "ScalarConversionWarning",
        "L113": "OptimizerArgumentError",
        "L114": "StateDictMismatch",
        "L115": "MissingAttribute",
        "L116": "ModuleNotInitialized",
    },
    "writes": {
        # in-place writes, views, versions
        "L201": "SavedValueModified",
        "L202": "LeafModified",
        "L203": "ViewOfLeafModified",
        "L204": "MultiViewModified",
        "L205": "NoGradViewModified",
        "L206": "FunctionViewModified",
        "L207": "OverlappingWrite",
        "L208": "OutWithGrad",
        "L209": "DetachOfView",
        "L210": "InferenceTensorError",
        "L211": "DataMismatch",
        "L212": "ResizeRefused",
        "L213": "CastRefused",
    },
    "graph": {
        # backward and the graph
        "L301": "NoGraph",
        "L302": "GraphFreed",
        "L303": "NonScalarRoot",
        "L304": "GradShapeMismatch",
        "L305": "UnusedInput",
        "L306": "NotDifferentiable",
        "L307": "GradAssignmentMismatch",
        "L308": "GradNotATensor",
        "L309": "NanGradient",
        "L310": "CreateGraphWarning",
        "L311": "CheckpointWarning",
        "L312": "CheckpointMismatch",
        "L313": "HookResultInvalid",
        "L314": "GradcheckFailed",
        "L315": "NotAGraphTensor",
    },
    "values": {
        # shapes
        "L401": "ShapeMismatch",
        "L402": "ReshapeMismatch",
        "L403": "ViewStrideMismatch",
        "L404": "MatmulShapeMismatch",
        "L405": "WriteShapeMismatch",
        "L406": "ConcatenationMismatch",
        "L407": "NegativeSize",
        "L408": "RaggedData",
        "L409": "BatchMismatch",
        "L410": "LayerMismatch",
        # indices and values
        "L701": "IndexOutOfRange",
        "L702": "DimensionOutOfRange",
        "L703": "InvalidIndex",
        "L704": "InvalidValue",
        "L705": "LinAlgError",
        "L706": "NotAScalar",
        "L707": "AmbiguousTruth",
        "L708": "ZeroDimensional",
        "L709": "EmptyReduction",
        "L710": "InvalidArgument",
        "L711": "DoubtfulValue",
        "L712": "UnknownStrategy",
        "L713": "LoopedMapWarning",
    },
    "kinds": {
        # dtypes
        "L501": "DtypeError",
        "L502": "UnsupportedData",
        "L503": "ArgumentTypeError",
        "L504": "NotImplementedForDtype",
        "L505": "InvalidDtype",
        # devices
        "L601": "DeviceMismatch",
        "L602": "SimulatedCudaUnavailable",
        "L603": "InvalidDevice",
        "L604": "NumpyOfDeviceTensor",
        "L605": "NoData",
        "L606": "OutOfMemoryError",
        "L607": "InvalidThreadCount",
    },
    "functions": {
        # custom functions
        "L801": "WrongNumberOfGradients",
        "L802": "InvalidGradient",
        "L803": "LegacyFunction",
        "L804": "BackwardNotWritten",
        "L805": "OnceDifferentiable",
        "L806": "SaveForBackwardMisuse",
        "L807": "ContextMisuse",
    },
    "operators": {
        # custom functions
        "L851": "OperatorCallError",
        "L852": "OperatorResultError",
        "L853": "InvalidSchema",
        "L854": "SchemaNotInferred",
        "L855": "NoAutogradFormula",
        "L856": "OperatorNotDefined",
        "L857": "NoOperatorKernel",
        "L858": "NoFakeKernel",
        "L859": "LibraryNotLoaded",
        "L860": "OperatorCheckFailed",
    },
    "extras": {
        # extras: packages, compiler, files, names
        "L901": "MissingExtra",
        "L902": "NotSupported",
        "L903": "CaptureError",
        "L904": "CaptureWarning",
        "L905": "FileFormatError",
        "L906": "InternalError",
        "L907": "UnsafeFile",
        "L908": "EmptyFile",
        "L909": "SaveFailed",
        "L910": "ProfilerMisuse",
    },
    "imports": {
        # extras: packages, compiler, files, names
        "L911": "MissingName",
        "L912": "MissingImport",
        "L913": "MissingModule",
        "L914": "TorchIsLoaded",
    },
    "loading": {
        # data sets and their loading
        "L1001": "DatasetMismatch",
        "L1002": "CollateMismatch",
        "L1003": "CollateMissingKey",
        "L1004": "WorkerFailed",
        "L1005": "DatasetWarning",
    },
}
