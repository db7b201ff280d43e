"""DLPack, timing, reports, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.utils import benchmark, collect_env, cpp_extension, dlpack


def test_a_capsule_stands_for_memory():
    x = lamina.arange(3)

    y = dlpack.from_dlpack(dlpack.to_dlpack(x))
    y += 1

    assert x.tolist() == [1, 2, 3]


def test_memory_of_an_array_is_shared():
    array = np.arange(3)

    dlpack.from_dlpack(array)[0] = 7

    assert array[0] == 7


@pytest.mark.parametrize("copy", [True, False])
def test_a_copy_is_made_only_if_wanted(copy):
    array = np.arange(3)

    dlpack.from_dlpack(array, copy=copy)[0] = 7

    assert array[0] == (0 if copy else 7)


def ticking(*steps):
    """A clock that shows the sums of some steps, then goes on by the last one."""
    times = [0.0]
    for step in steps:
        times.append(times[-1] + step)

    def clock():
        if len(times) == 1:
            times.append(times[0] + steps[-1])
        return times.pop(0)

    return clock


def test_a_statement_is_timed():
    found = benchmark.Timer("x + 1", timer=ticking(1), globals={"x": 1}).timeit(50)

    assert (found.number_per_run, found.raw_times, found.times) == (50, [1.0], [0.02])
    assert "20.00 ms" in repr(found)
    assert "1 measurement, 50 runs, 1 thread" in repr(found)


def test_times_are_summed_up():
    found = benchmark.Measurement(2, [2, 4, 6, 8, 10], stmt="f()", sub_label="large", label="L")

    assert (found.median, found.mean, found.iqr) == (3, 3, 2)
    assert found.has_warnings
    assert found.title == "L: large"
    assert "Median: 3.00 s" in repr(found)
    assert "IQR:    2.00 s (2.00 s to 4.00 s)" in repr(found)


def test_measurements_fill_the_time():
    found = benchmark.Timer().blocked_autorange(min_run_time=0.02)

    assert sum(found.raw_times) >= 0.02
    assert found.number_per_run > 100


def test_measurements_end_when_they_agree():
    seen = []
    found = benchmark.Timer("torch.ones(3)").adaptive_autorange(
        min_run_time=0.001, max_run_time=0.5, callback=lambda number, seconds: seen.append(seconds)
    )

    assert seen == found.raw_times
    assert found.iqr / found.median < 0.1 or sum(seen) >= 0.5


def test_the_count_of_threads_is_as_it_was():
    before = lamina.get_num_threads()
    seen = []

    benchmark.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}).timeit(2)

    assert set(seen) == {1}
    assert lamina.get_num_threads() == before


def test_statements_in_other_languages_are_refused():
    with pytest.raises(NotImplementedError, match="Python here"):
        benchmark.Timer("x;", language="c++")
    with pytest.raises(ValueError, match=r"global_setup is C\+\+ only"):
        benchmark.Timer(global_setup="x")


def test_a_report_names_versions(capsys):
    collect_env.main()

    text = capsys.readouterr().out
    assert f"Lamina version: {lamina.__version__}\n" in text
    assert f"numpy: {np.__version__}\n" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda: cpp_extension.load("ext", ["a.cpp"]),
        lambda: cpp_extension.load_inline("ext", "int f();"),
        lambda: cpp_extension.CppExtension("ext", ["a.cpp"]),
        lambda: cpp_extension.CUDAExtension("ext", ["a.cu"]),
        lambda: cpp_extension.BuildExtension(),
    ],
)
def test_extensions_are_refused(call):
    with pytest.raises(NotImplementedError, match=r"cpp_extension\.\w+: Lamina has no C\+\+"):
        call()
