"""Every error and warning that a user can meet, each with a code.

An error names the places in the user's source that matter and a repair; see `places.render`.
Each class is also the builtin exception that PyTorch raises, given in brackets:

    LaminaError (Exception)
    |  leaves and requires_grad
    |-- L101  NotALeafFlag (RuntimeError)
    |-- L102  RequiresGradDtype (RuntimeError)
    |-- L103  NonLeafOptimized (ValueError)
    |-- L104  EmptyParameterList (ValueError)
    |-- L105  RetainGradRefused (RuntimeError)
    |-- L106  HookRefused (RuntimeError)
    |-- L107  DeepcopyOfNonLeaf (RuntimeError)
    |-- L108  NumpyOfRequiringTensor (RuntimeError)
    |-- L109  NotAParameter (TypeError)
    |-- L113  OptimizerArgumentError (ValueError)
    |-- L114  StateDictMismatch (RuntimeError)
    |-- L115  MissingAttribute (AttributeError)
    |-- L116  ModuleNotInitialized (AttributeError)
    |  in-place writes, views, versions
    |-- L201  SavedValueModified (RuntimeError)
    |-- L202  LeafModified (RuntimeError)
    |-- L203  ViewOfLeafModified (RuntimeError)
    |-- L204  MultiViewModified (RuntimeError)
    |-- L205  NoGradViewModified (RuntimeError)
    |-- L206  FunctionViewModified (RuntimeError)
    |-- L207  OverlappingWrite (RuntimeError)
    |-- L208  OutWithGrad (RuntimeError)
    |-- L209  DetachOfView (RuntimeError)
    |-- L210  InferenceTensorError (RuntimeError)
    |-- L211  DataMismatch (RuntimeError)
    |-- L212  ResizeRefused (RuntimeError)
    |-- L213  CastRefused (RuntimeError)
    |  backward and the graph
    |-- L301  NoGraph (RuntimeError)
    |-- L302  GraphFreed (RuntimeError)
    |-- L303  NonScalarRoot (RuntimeError)
    |-- L304  GradShapeMismatch (RuntimeError)
    |-- L305  UnusedInput (RuntimeError)
    |-- L306  NotDifferentiable (NotImplementedError)
    |-- L307  GradAssignmentMismatch (RuntimeError)
    |-- L308  GradNotATensor (TypeError)
    |-- L309  NanGradient (RuntimeError)
    |-- L312  CheckpointMismatch (RuntimeError)
    |-- L313  HookResultInvalid (RuntimeError)
    |-- L314  GradcheckFailed (RuntimeError)
    |-- L315  NotAGraphTensor (TypeError)
    |  shapes
    |-- L401  ShapeMismatch (RuntimeError)
    |-- L402  ReshapeMismatch (RuntimeError)
    |-- L403  ViewStrideMismatch (RuntimeError)
    |-- L404  MatmulShapeMismatch (RuntimeError)
    |-- L405  WriteShapeMismatch (RuntimeError)
    |-- L406  ConcatenationMismatch (RuntimeError)
    |-- L407  NegativeSize (RuntimeError)
    |-- L408  RaggedData (ValueError)
    |-- L409  BatchMismatch (ValueError)
    |-- L410  LayerMismatch (RuntimeError, AssertionError)
    |  dtypes
    |-- L501  DtypeError (RuntimeError)
    |-- L502  UnsupportedData (TypeError)
    |-- L503  ArgumentTypeError (TypeError)
    |-- L504  NotImplementedForDtype (NotImplementedError)
    |-- L505  InvalidDtype (TypeError)
    |  devices
    |-- L601  DeviceMismatch (RuntimeError)
    |-- L602  SimulatedCudaUnavailable (RuntimeError, AssertionError)
    |-- L603  InvalidDevice (RuntimeError)
    |-- L604  NumpyOfDeviceTensor (TypeError)
    |-- L605  NoData (NotImplementedError)
    |-- L606  OutOfMemoryError (RuntimeError)
    |-- L607  InvalidThreadCount (RuntimeError)
    |  indices and values
    |-- L701  IndexOutOfRange (IndexError)
    |-- L702  DimensionOutOfRange (IndexError)
    |-- L703  InvalidIndex (IndexError)
    |-- L704  InvalidValue (ValueError)
    |-- L705  LinAlgError (RuntimeError)
    |-- L706  NotAScalar (RuntimeError)
    |-- L707  AmbiguousTruth (RuntimeError)
    |-- L708  ZeroDimensional (TypeError)
    |-- L709  EmptyReduction (RuntimeError)
    |-- L710  InvalidArgument (RuntimeError)
    |-- L712  UnknownStrategy (AssertionError)
    |  custom functions
    |-- L801  WrongNumberOfGradients (RuntimeError)
    |-- L802  InvalidGradient (RuntimeError)
    |-- L803  LegacyFunction (RuntimeError)
    |-- L804  BackwardNotWritten (NotImplementedError)
    |-- L805  OnceDifferentiable (RuntimeError)
    |-- L806  SaveForBackwardMisuse (TypeError)
    |-- L807  ContextMisuse (RuntimeError)
    |  extras: packages, compiler, files
    |-- L901  MissingExtra (ImportError)
    |-- L902  NotSupported (NotImplementedError)
    |-- L903  CaptureError (RuntimeError)
    |-- L905  FileFormatError (RuntimeError, pickle.UnpicklingError)
    |-- L906  DistributedError (RuntimeError)
    |-- L907  UnsafeFile (pickle.UnpicklingError)
    |-- L908  EmptyFile (EOFError)
    |-- L909  SaveFailed (RuntimeError)
    |-- L910  ProfilerMisuse (AssertionError)
    |-- L911  MissingName (AttributeError)
    |-- L912  MissingImport (ImportError)
    |-- L913  MissingModule (ModuleNotFoundError)
    |-- L914  TorchIsLoaded (RuntimeError)
    |  data sets and their loading
    |-- L1001  DatasetMismatch (AssertionError)
    |-- L1002  CollateMismatch (RuntimeError)
    |-- L1003  CollateMissingKey (KeyError)
    |-- L1004  WorkerFailed (RuntimeError)

    LaminaWarning (UserWarning)
    |-- L110  NonLeafGradWarning
    |-- L111  CopyConstructWarning
    |-- L112  ScalarConversionWarning
    |-- L310  CreateGraphWarning
    |-- L311  CheckpointWarning
    |-- L711  DoubtfulValue
    |-- L713  LoopedMapWarning
    |-- L904  CaptureWarning
    |-- L1005  DatasetWarning

"""

from .base import Diagnostic, LaminaError, LaminaWarning
from .extras import (
    CaptureError,
    CaptureWarning,
    DistributedError,
    EmptyFile,
    FileFormatError,
    MissingExtra,
    NotSupported,
    ProfilerMisuse,
    SaveFailed,
    UnsafeFile,
)
from .functions import (
    BackwardNotWritten,
    ContextMisuse,
    InvalidGradient,
    LegacyFunction,
    OnceDifferentiable,
    SaveForBackwardMisuse,
    WrongNumberOfGradients,
)
from .graph import (
    CheckpointMismatch,
    CheckpointWarning,
    CreateGraphWarning,
    GradAssignmentMismatch,
    GradcheckFailed,
    GradNotATensor,
    GradShapeMismatch,
    GraphFreed,
    HookResultInvalid,
    NanGradient,
    NoGraph,
    NonScalarRoot,
    NotAGraphTensor,
    NotDifferentiable,
    UnusedInput,
)
from .imports import (
    MissingImport,
    MissingModule,
    MissingName,
    TorchIsLoaded,
)
from .kinds import (
    ArgumentTypeError,
    DeviceMismatch,
    DtypeError,
    InvalidDevice,
    InvalidDtype,
    InvalidThreadCount,
    NoData,
    NotImplementedForDtype,
    NumpyOfDeviceTensor,
    OutOfMemoryError,
    SimulatedCudaUnavailable,
    UnsupportedData,
)
from .leaves import (
    CopyConstructWarning,
    DeepcopyOfNonLeaf,
    EmptyParameterList,
    HookRefused,
    MissingAttribute,
    ModuleNotInitialized,
    NonLeafGradWarning,
    NonLeafOptimized,
    NotALeafFlag,
    NotAParameter,
    NumpyOfRequiringTensor,
    OptimizerArgumentError,
    RequiresGradDtype,
    RetainGradRefused,
    ScalarConversionWarning,
    StateDictMismatch,
)
from .loading import (
    CollateMismatch,
    CollateMissingKey,
    DatasetMismatch,
    DatasetWarning,
    WorkerFailed,
)
from .places import Note, Place, render
from .values import (
    AmbiguousTruth,
    BatchMismatch,
    ConcatenationMismatch,
    DimensionOutOfRange,
    DoubtfulValue,
    EmptyReduction,
    IndexOutOfRange,
    InvalidArgument,
    InvalidIndex,
    InvalidValue,
    LayerMismatch,
    LinAlgError,
    LoopedMapWarning,
    MatmulShapeMismatch,
    NegativeSize,
    NotAScalar,
    RaggedData,
    ReshapeMismatch,
    ShapeMismatch,
    UnknownStrategy,
    ViewStrideMismatch,
    WriteShapeMismatch,
    ZeroDimensional,
)
from .writes import (
    CastRefused,
    DataMismatch,
    DetachOfView,
    FunctionViewModified,
    InferenceTensorError,
    LeafModified,
    MultiViewModified,
    NoGradViewModified,
    OutWithGrad,
    OverlappingWrite,
    ResizeRefused,
    SavedValueModified,
    ViewOfLeafModified,
)

CODES: dict[str, type[Diagnostic]] = {
    "L101": NotALeafFlag,
    "L102": RequiresGradDtype,
    "L103": NonLeafOptimized,
    "L104": EmptyParameterList,
    "L105": RetainGradRefused,
    "L106": HookRefused,
    "L107": DeepcopyOfNonLeaf,
    "L108": NumpyOfRequiringTensor,
    "L109": NotAParameter,
    "L110": NonLeafGradWarning,
    "L111": CopyConstructWarning,
    "L112": ScalarConversionWarning,
    "L113": OptimizerArgumentError,
    "L114": StateDictMismatch,
    "L115": MissingAttribute,
    "L116": ModuleNotInitialized,
    "L201": SavedValueModified,
    "L202": LeafModified,
    "L203": ViewOfLeafModified,
    "L204": MultiViewModified,
    "L205": NoGradViewModified,
    "L206": FunctionViewModified,
    "L207": OverlappingWrite,
    "L208": OutWithGrad,
    "L209": DetachOfView,
    "L210": InferenceTensorError,
    "L211": DataMismatch,
    "L212": ResizeRefused,
    "L213": CastRefused,
    "L301": NoGraph,
    "L302": GraphFreed,
    "L303": NonScalarRoot,
    "L304": GradShapeMismatch,
    "L305": UnusedInput,
    "L306": NotDifferentiable,
    "L307": GradAssignmentMismatch,
    "L308": GradNotATensor,
    "L309": NanGradient,
    "L310": CreateGraphWarning,
    "L311": CheckpointWarning,
    "L312": CheckpointMismatch,
    "L313": HookResultInvalid,
    "L314": GradcheckFailed,
    "L315": NotAGraphTensor,
    "L401": ShapeMismatch,
    "L402": ReshapeMismatch,
    "L403": ViewStrideMismatch,
    "L404": MatmulShapeMismatch,
    "L405": WriteShapeMismatch,
    "L406": ConcatenationMismatch,
    "L407": NegativeSize,
    "L408": RaggedData,
    "L409": BatchMismatch,
    "L410": LayerMismatch,
    "L501": DtypeError,
    "L502": UnsupportedData,
    "L503": ArgumentTypeError,
    "L504": NotImplementedForDtype,
    "L505": InvalidDtype,
    "L601": DeviceMismatch,
    "L602": SimulatedCudaUnavailable,
    "L603": InvalidDevice,
    "L604": NumpyOfDeviceTensor,
    "L605": NoData,
    "L606": OutOfMemoryError,
    "L607": InvalidThreadCount,
    "L701": IndexOutOfRange,
    "L702": DimensionOutOfRange,
    "L703": InvalidIndex,
    "L704": InvalidValue,
    "L705": LinAlgError,
    "L706": NotAScalar,
    "L707": AmbiguousTruth,
    "L708": ZeroDimensional,
    "L709": EmptyReduction,
    "L710": InvalidArgument,
    "L711": DoubtfulValue,
    "L712": UnknownStrategy,
    "L713": LoopedMapWarning,
    "L801": WrongNumberOfGradients,
    "L802": InvalidGradient,
    "L803": LegacyFunction,
    "L804": BackwardNotWritten,
    "L805": OnceDifferentiable,
    "L806": SaveForBackwardMisuse,
    "L807": ContextMisuse,
    "L901": MissingExtra,
    "L902": NotSupported,
    "L903": CaptureError,
    "L904": CaptureWarning,
    "L905": FileFormatError,
    "L906": DistributedError,
    "L907": UnsafeFile,
    "L908": EmptyFile,
    "L909": SaveFailed,
    "L910": ProfilerMisuse,
    "L911": MissingName,
    "L912": MissingImport,
    "L913": MissingModule,
    "L914": TorchIsLoaded,
    "L1001": DatasetMismatch,
    "L1002": CollateMismatch,
    "L1003": CollateMissingKey,
    "L1004": WorkerFailed,
    "L1005": DatasetWarning,
}

__all__ = [
    "AmbiguousTruth",
    "ArgumentTypeError",
    "BackwardNotWritten",
    "BatchMismatch",
    "CODES",
    "CaptureError",
    "CaptureWarning",
    "CastRefused",
    "CheckpointMismatch",
    "CheckpointWarning",
    "CollateMismatch",
    "CollateMissingKey",
    "ConcatenationMismatch",
    "ContextMisuse",
    "CopyConstructWarning",
    "CreateGraphWarning",
    "DataMismatch",
    "DatasetMismatch",
    "DatasetWarning",
    "DeepcopyOfNonLeaf",
    "DetachOfView",
    "DeviceMismatch",
    "Diagnostic",
    "DimensionOutOfRange",
    "DistributedError",
    "DoubtfulValue",
    "DtypeError",
    "EmptyFile",
    "EmptyParameterList",
    "EmptyReduction",
    "FileFormatError",
    "FunctionViewModified",
    "GradAssignmentMismatch",
    "GradNotATensor",
    "GradShapeMismatch",
    "GradcheckFailed",
    "GraphFreed",
    "HookRefused",
    "HookResultInvalid",
    "IndexOutOfRange",
    "InferenceTensorError",
    "InvalidArgument",
    "InvalidDevice",
    "InvalidDtype",
    "InvalidGradient",
    "InvalidIndex",
    "InvalidThreadCount",
    "InvalidValue",
    "LaminaError",
    "LaminaWarning",
    "LayerMismatch",
    "LeafModified",
    "LegacyFunction",
    "LinAlgError",
    "LoopedMapWarning",
    "MatmulShapeMismatch",
    "MissingAttribute",
    "MissingExtra",
    "MissingImport",
    "MissingModule",
    "MissingName",
    "ModuleNotInitialized",
    "MultiViewModified",
    "NanGradient",
    "NegativeSize",
    "NoData",
    "NoGradViewModified",
    "NoGraph",
    "NonLeafGradWarning",
    "NonLeafOptimized",
    "NonScalarRoot",
    "NotAGraphTensor",
    "NotALeafFlag",
    "NotAParameter",
    "NotAScalar",
    "NotDifferentiable",
    "NotImplementedForDtype",
    "NotSupported",
    "Note",
    "NumpyOfDeviceTensor",
    "NumpyOfRequiringTensor",
    "OnceDifferentiable",
    "OptimizerArgumentError",
    "OutOfMemoryError",
    "OutWithGrad",
    "OverlappingWrite",
    "Place",
    "ProfilerMisuse",
    "RaggedData",
    "RequiresGradDtype",
    "ReshapeMismatch",
    "ResizeRefused",
    "RetainGradRefused",
    "SaveFailed",
    "SaveForBackwardMisuse",
    "SavedValueModified",
    "ScalarConversionWarning",
    "ShapeMismatch",
    "SimulatedCudaUnavailable",
    "StateDictMismatch",
    "TorchIsLoaded",
    "UnknownStrategy",
    "UnsafeFile",
    "UnsupportedData",
    "UnusedInput",
    "ViewOfLeafModified",
    "ViewStrideMismatch",
    "WorkerFailed",
    "WriteShapeMismatch",
    "WrongNumberOfGradients",
    "ZeroDimensional",
    "render",
]
