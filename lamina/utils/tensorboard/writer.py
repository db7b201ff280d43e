"""The writer of event files, with PyTorch's methods, and tensorboardX's forms of what they hold."""

from __future__ import annotations

import functools
import os
import socket
import time
from types import TracebackType
from typing import Any, Self

import numpy as np

from lamina import errors
from lamina.core.tensor import Tensor
from lamina.utils._pytree import tree_map_only
from lamina.utils.tensorboard.event_file import EventFile
from lamina.utils.tensorboard.images import pixels, png
from lamina.utils.tensorboard.model_graph import graph_of
from lamina.utils.tensorboard.package import part_of_package

__all__ = ["SummaryWriter"]

# A missing package is an error where this file is imported: programs catch it there.
_summaries = part_of_package("tensorboardX.summary")


class SummaryWriter:
    """Writes figures of a training run into a folder, where TensorBoard reads them.

    Wherever a number or an array is wanted, a tensor may be given, on any device, also one that
    requires grad. `global_step` is the place on the horizontal axis, `walltime` a time in seconds
    instead of now.

    Args:
        log_dir: The folder; without it `runs/` and the time and the machine's name.
        comment: Added to that name.
        purge_step: The step from which on a run is taken up again: later entries are hidden.
        max_queue: How many entries wait in memory before they are written.
        flush_secs: After how many seconds they are written in any case.
        filename_suffix: Added to the name of each file.

    Raises:
        ImportError: On import, where tensorboardX is not installed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     writer.add_scalar("loss", 0.5, global_step=1)
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None,
        max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._files = {self.log_dir: self._new_file(self.log_dir)}
        if purge_step is not None:
            log = part_of_package("tensorboardX.proto.event_pb2").SessionLog
            self._file.add(purge_step, session_log=log(status=log.START))

    def _new_file(self, folder: str) -> EventFile:
        return EventFile(folder, self.filename_suffix, self.max_queue, self.flush_secs)

    @property
    def _file(self) -> EventFile:
        return self._files[self.log_dir]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def flush(self) -> None:
        """Write what still waits in memory."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Write what waits, and close the files."""
        for file in self._files.values():
            file.close()

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    # --- numbers and words ---

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Write one number. The last two arguments are accepted: it is written as float32.

        Raises:
            AssertionError: The value is not one number.
        """
        value = np.asarray(_plain(scalar_value))
        if value.size != 1:
            raise errors.DatasetMismatch(
                f"scalar should be 0D: `{tag}` has the shape {tuple(value.shape)}",
                help=["reduce it, as by `.mean()`, or write a histogram: `add_histogram`"],
            )
        summary = _summaries.scalar(tag, float(value.reshape(())))
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write numbers for one diagram: each into a run of its own, a folder below this one."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self._files:
                self._files[folder] = self._new_file(folder)
            summary = _summaries.scalar(main_tag, float(_plain(value)))
            self._files[folder].add(_plain(global_step), walltime, summary=summary)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Write how the elements of a tensor are distributed."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = _tensorflow_bins()
        array = np.asarray(_plain(values))
        summary = _summaries.histogram(tag, array, _plain(bins), max_bins)
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write words, in Markdown."""
        summary = _summaries.text(tag, text_string)
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None, run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Write the settings of a run and what came of them, into a folder below this one.

        Args:
            hparam_domain_discrete: Accepted; the values that a setting may have are not written.
            run_name: The folder; without it the time.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise errors.ArgumentTypeError("hparam_dict and metric_dict should be dictionary.")
        settings = {name: _one(value) for name, value in hparam_dict.items()}
        metrics = {name: _one(value) for name, value in metric_dict.items()}
        folder = os.path.join(self.log_dir, str(time.time()) if run_name is None else run_name)
        file = self._new_file(folder)
        for summary in _summaries.hparams(settings, metrics):
            file.add(summary=summary)
        for name, value in metrics.items():
            file.add(_plain(global_step), summary=_summaries.scalar(name, value))
        file.close()

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None,
        num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write precision and recall for all thresholds, of labels 0 and 1 and probabilities."""
        summary = _summaries.pr_curve(
            tag, _plain(labels), _plain(predictions), num_thresholds, _plain(weights)
        )
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_custom_scalars(self, layout: dict[str, dict[str, list[Any]]]) -> None:
        """Say which numbers are shown together, and how."""
        self._file.add(summary=_summaries.custom_scalars(layout))

    # --- pictures ---

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """Write a picture: bytes from 0 to 255, or other numbers from 0 to 1.

        Args:
            img_tensor: Of one, three or four channels.
            dataformats: What its dimensions are, in order.

        Raises:
            AssertionError: `dataformats` does not fit the shape.
        """
        image = pixels(np.asarray(_plain(img_tensor)), dataformats)
        summary = part_of_package("tensorboardX.proto.summary_pb2").Summary()
        height, width, channels = image.shape
        value = summary.value.add(tag=tag)
        value.image.height, value.image.width, value.image.colorspace = height, width, channels
        value.image.encoded_image_string = png(image)
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Write several pictures, in rows of eight."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a figure of matplotlib, or a list of them, as a picture."""
        drawn = part_of_package("tensorboardX.utils").figure_to_image(figure, close)
        formats = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, drawn, global_step, walltime, formats)

    # --- others ---

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:  # fmt: skip
        """Write the operations that a model records for an input: the nodes of its backward pass.

        Args:
            input_to_model: The model's input, or a tuple of its inputs.
            verbose: Whether to print the graph too.
            use_strict_trace: Accepted.
        """
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self._file.add(graph_def=graph.SerializeToString())

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None,
        config_dict: Any = None, global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write points in space, or triangles between them."""
        summary = _summaries.mesh(tag, _plain(vertices), _plain(colors), _plain(faces), config_dict)
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a sound, of numbers from -1 to 1. It takes the package soundfile."""
        summary = _summaries.audio(tag, _plain(snd_tensor), sample_rate)
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Write a film, of shape (N, T, C, H, W). It takes the package moviepy."""
        summary = _summaries.video(tag, _plain(vid_tensor), fps)
        self._file.add(_plain(global_step), walltime, summary=summary)

    def add_embedding(self, *args: Any, **kwargs: Any) -> None:
        """Refused: points with words or pictures are not written."""
        raise errors.NotSupported(
            "SummaryWriter.add_embedding is not there: event files hold numbers, words, pictures, "
            "curves and graphs",
            help=["draw the points with matplotlib, and write them by `add_figure`"],
        )


@functools.cache
def _tensorflow_bins() -> list[float]:
    """The limits that TensorBoard expects: powers of 1.1 to either side of zero."""
    limits = [0.0]
    limit = 1e-12
    while limit < 1e20:
        limits = [-limit, *limits, limit]
        limit *= 1.1
    return limits


def _plain(value: Any) -> Any:
    """Tensors as arrays, also in lists."""
    return tree_map_only(Tensor, _array, value)


def _array(tensor: Tensor) -> Any:
    values = tensor.detach().cpu()
    # NumPy has no bfloat16.
    is_short = values.dtype.is_floating_point and values.dtype.itemsize < 4
    return (values.float() if is_short else values).numpy()


def _one(value: Any) -> Any:
    """A tensor of one element as a Python number."""
    return value.item() if isinstance(value, Tensor) else value
