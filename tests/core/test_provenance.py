"""From an instruction to the expression in the source."""

import copy
import linecache
import subprocess
import sys
import textwrap
import types
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.core import positions, provenance
from lamina.core.positions import here, internal_files, user_frame
from lamina.core.provenance import argument_names, assigned_name, enclosing_call_chain, place_of
from lamina.errors import Place


class Probe:
    """An object that writes down the origin of everything done to it."""

    def __init__(self):
        self.__dict__["origins"] = []

    def _note(self, *_, **__):
        user = sys._getframe(1)
        self.origins.append((user.f_code, user.f_lasti))
        return self

    __add__ = __iadd__ = __mul__ = __matmul__ = __imatmul__ = __neg__ = __gt__ = _note
    __call__ = __getitem__ = __setitem__ = __delitem__ = __setattr__ = _note
    __enter__ = mul = add = double = _note

    def __exit__(self, *_):
        user = sys._getframe(1)
        self.origins.append((user.f_code, user.f_lasti))

    def __iter__(self):
        user = sys._getframe(1)
        self.origins.append((user.f_code, user.f_lasti))
        return iter([self, self])

    def __format__(self, _):
        return ""


def origins(source, filename="<case x>", known=True):
    """Run `source`, in which `t` is a Probe; the origins of what it did to it."""
    source = textwrap.dedent(source)
    lines = source.splitlines(True)
    linecache.cache.pop(filename, None)
    if known:
        linecache.cache[filename] = (len(source), None, lines, filename)
    probe = Probe()
    exec(compile(source, filename, "exec"), {"t": probe})
    return probe.origins


def expressions(source):
    return [place_of(*origin).expression for origin in origins(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("t.mul(2)", ["t.mul(2)"]),
        ("h = t * 2", ["t * 2"]),
        ("h = -t", ["-t"]),
        ("h = t > 2", ["t > 2"]),
        ("t += 1", ["t += 1"]),
        ("t @= (\n  2)", ["t @= (2)"]),
        ("t[1:2] = 3", ["t[1:2] = 3"]),
        ("t[0] += 1", ["t[0] += 1"] * 3),
        ("h = t[0]", ["t[0]"]),
        ("del t[0]", ["del t[0]"]),
        ("t.grad = None", ["t.grad = None"]),
        ("a, b = t", ["a, b = t"]),
        ("with t as h: pass", ["with t as h"] * 2),
        ("for row in t: pass", ["for row in t"]),
        ("h = [r.mul(2) for r in [t]]", ["r.mul(2)"]),
        ("h = (lambda u: u * u)(t)", ["u * u"]),
        ("if (h := t * 2): pass", ["t * 2"]),
        ("h = f'{t.mul(2)} é {t * 3:>{4}}'", ["t.mul(2)", "t * 3"]),
        ("@t\ndef f(): pass", ["t"]),
        ("@t.mul(2)\ndef f(): pass", ["t.mul(2)", "t.mul(2)"]),
        ("h = t.mul(2).double()", ["t.mul(2)", "t.mul(2).double()"]),
        ("h = (\n  t.mul(2)\n   .double()  # why\n)", ["t.mul(2)", "t.mul(2).double()"]),
        ("h = t.add(\n  t,  # why\n  2,\n)", ["t.add(t, 2)"]),
        ("def f(u):\n    return u.mul(  2 )\nf(t)", ["u.mul(  2 )"]),
        (
            "async def f():\n  t.mul(2)\ntry: f().send(None)\nexcept StopIteration: pass",
            ["t.mul(2)"],
        ),
    ],
)
def test_the_expression(source, expected):
    assert expressions(source) == expected


def test_a_multi_line_f_string_gives_the_part_or_the_string():
    (found,) = expressions('h = f"""\n  {1}\n  {t.mul(2)}"""')
    assert "t.mul(2)" in found


def test_a_place_says_everything():
    (origin,) = origins("def step(u):\n    h = u.mul(2)\nstep(t)\n")
    assert place_of(*origin) == Place(
        "<case x>", 2, "h = u.mul(2)", 4, 12, "u.mul(2)", "step", ("u", "2")
    )


def test_columns_count_characters_where_python_counts_bytes():
    (origin,) = origins('重み = ("é", t.mul("ü"))')
    place = place_of(*origin)
    assert place.text[place.start : place.end] == place.expression == 't.mul("ü")'


def test_indent_by_tabs_is_taken_off():
    (origin,) = origins("if True:\n\tif True:\n\t\th =\tt.mul(2)")
    place = place_of(*origin)
    assert place.text == "h =\tt.mul(2)"
    assert place.text[place.start : place.end] == "t.mul(2)"


def test_lines_of_one_expression_lose_their_common_indent():
    (origin,) = origins("if True:\n    h = t.add(\n        t,\n    )")
    place = place_of(*origin)
    assert place.text == "h = t.add(\n    t,\n)"
    assert (place.line, place.start, place.end) == (2, 4, 10)


def test_without_source_there_is_a_line():
    (origin,) = origins("\nh = t.mul(2)", "<gone>", known=False)
    assert place_of(*origin) == Place("<gone>", 2, function="<module>")
    assert assigned_name(*origin) is None
    assert argument_names(place_of(*origin)) == []
    assert enclosing_call_chain(*origin) == place_of(*origin)


def test_source_that_has_changed_is_not_quoted_beyond_its_end():
    (origin,) = origins("\n\nh = t.mul(2)")
    linecache.cache["<case x>"] = (3, None, ["a\n"], "<case x>")
    assert place_of(*origin) == Place("<case x>", 3, function="<module>")


def test_source_that_does_not_parse_is_quoted_by_position():
    (origin,) = origins("h = t.mul(2)")
    linecache.cache["<case x>"] = (3, None, ["h = t.mul(2)\n", "%magic\n"], "<case x>")
    place = place_of(*origin)
    assert (place.text, place.expression) == ("h = t.mul(2)", "t.mul(2)")


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_source_is_read_without_warnings():
    (origin,) = origins("'\\d'; t.mul(2)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert place_of(*origin).expression == "t.mul(2)"


def test_a_new_source_of_the_same_name_is_read_anew():
    assert expressions("h = t.mul(2)") == ["t.mul(2)"]
    assert expressions("h = t.add(3)") == ["t.add(3)"]


def test_a_file_shows_its_short_name():
    code, lasti = here()
    place = place_of(code, lasti)
    assert place.file == "test_provenance.py"
    assert place.expression == "here()"
    assert place.function == "test_a_file_shows_its_short_name"
    assert assigned_name(code, lasti) is None


def test_debug_ranges_may_be_absent(tmp_path):
    (tmp_path / "user.py").write_text(
        "from lamina.core.positions import here\n"
        "from lamina.core.provenance import place_of\n"
        "def f():\n    origin = here()\n    return place_of(*origin)\nprint(f())\nprint(f().text)\n"
    )
    root = Path(provenance.__file__).parents[2]
    command = [sys.executable, "-X", "no_debug_ranges", str(tmp_path / "user.py")]
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(root)}
    )
    assert result.stdout == "user.py:4\norigin = here()\n"


@given(st.integers(-10, 10_000))
def test_any_offset_gives_some_place(lasti):
    code = place_of.__code__
    assert place_of(code, lasti).file == "provenance.py"
    assert isinstance(argument_names(place_of(code, lasti)), list)
    assigned_name(code, lasti)
    enclosing_call_chain(code, lasti)


def test_every_instruction_of_a_file_has_a_place_that_quotes_it():
    code = compile(Path(__file__).read_text("utf-8"), __file__, "exec")
    waiting = [code]
    for inner in waiting:
        waiting += [const for const in inner.co_consts if isinstance(const, types.CodeType)]
        for lasti in range(0, len(inner.co_code), 2):
            place = place_of(inner, lasti)
            if place.text and "\n" not in place.text:
                assert place.text[place.start : place.end] == place.expression


def test_explaining_nonsense_does_not_raise():
    assert place_of(None, None) == Place("<unknown>", 0)
    assert assigned_name(None, None) is None
    assert argument_names(None) == []
    assert enclosing_call_chain(None, None) == Place("<unknown>", 0)
    assert argument_names(Place("a.py", 1, expression="not ( python")) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("h = t.mul(2)", ["h"]),
        ("h: int = t.mul(2)", ["h"]),
        ("class C: pass\nC.w = t.mul(2)", ["C.w"]),
        ("a = b = t.mul(2)", ["a"]),
        ("t += 1", ["t"]),
        ("a, b = t.mul(2), t * 3", ["a", "b"]),
        ("a, b = t.mul(2)", [None, None]),
        ("(h := t.mul(2))", ["h"]),
        ("h = t.mul(2) if True else 0", ["h"]),
        ("h = [0]\nh[0] = t.mul(2)", [None]),
        ("h = t.mul(2).double()", [None, "h"]),
        ("h = t.mul(2) * 3", [None, "h"]),
        ("print(end='', *[t.mul(2)][1:])", [None]),
        ("t.mul(2)", [None]),
    ],
)
def test_the_assigned_name(source, names):
    assert [assigned_name(*origin) for origin in origins(source)] == names


def test_a_link_of_a_chain_is_named_when_asked():
    first, last = origins("h = t.mul(2).double()")
    assert assigned_name(*first, chain=True) == "h"
    assert enclosing_call_chain(*first).expression == "t.mul(2).double()"
    assert enclosing_call_chain(*last).expression == "t.mul(2).double()"


def test_a_chain_goes_through_attributes_and_subscripts():
    first, *_ = origins("h = t.mul(2)[0].double()")
    assert enclosing_call_chain(*first).expression == "t.mul(2)[0].double()"


def test_an_argument_is_no_link_of_the_chain():
    first, _ = origins("h = t.add(t.mul(2)).origins")
    assert enclosing_call_chain(*first).expression == "t.mul(2)"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("h = t.mul(t)", ["t", "t"]),
        ("h = t @ t", ["t", "t"]),
        ("t[1:2] = 3", ["t[1:2]", "3"]),
        ("t += 1", ["t", "1"]),
        ("h = t[0]", ["t", "0"]),
        ("for row in t: pass", ["t"]),
        ("import math as m\nm.t = t\nh = m.t(1, k=2)", ["1", "2"]),
    ],
)
def test_operands(source, names):
    assert argument_names(place_of(*origins(source)[-1])) == names


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("torch.tanh(x @ w)", ["x @ w"]),
        ("torch.nn.functional.relu(x, inplace=True)", ["x", "True"]),
        ("x.w.mul(2)", ["x.w", "2"]),
        ("f(x)", ["x"]),
        ("x < y", ["x", "y"]),
        ("x.T", ["x"]),
        ("a = b + c", ["a", "b + c"]),
        ("", []),
    ],
)
def test_operands_of_a_place_without_them(expression, names):
    assert argument_names(Place("a.py", 1, expression=expression)) == names


def test_here_is_the_caller():
    code, lasti = here()
    assert code is test_here_is_the_caller.__code__
    assert 0 < lasti < len(code.co_code)


def internal(source, name="<internal>"):
    """A function compiled as if it were part of the package."""
    space = {"here": here, "user_frame": user_frame, "sys": sys}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def test_here_walks_out_of_the_package(monkeypatch):
    monkeypatch.setattr(positions, "internal_files", internal_files | {"<internal>"})
    inner = internal("def g(): return here()\ndef f(): return g()")
    code, _ = inner()
    assert code is test_here_walks_out_of_the_package.__code__


def test_user_frame_walks_out_of_the_package(monkeypatch):
    monkeypatch.setattr(positions, "internal_files", internal_files | {"<internal>"})
    assert internal("def f(): return user_frame(sys._getframe())")() is sys._getframe()


def test_without_a_user_frame_the_outermost_counts(monkeypatch):
    frame = sys._getframe()
    files = set()
    while frame is not None:
        files.add(frame.f_code.co_filename)
        outermost, frame = frame, frame.f_back
    monkeypatch.setattr(positions, "internal_files", files)
    assert user_frame(sys._getframe()) is outermost
    assert here()[0] is outermost.f_code


def test_deepcopy_is_not_the_user():
    class Thing:
        def __deepcopy__(self, memo):
            return user_frame(sys._getframe(1))

    assert copy.deepcopy(Thing()) is sys._getframe()


def test_the_package_knows_its_files():
    assert positions.here.__code__.co_filename in internal_files
    assert Place.__str__.__code__.co_filename in internal_files
    assert __file__ not in internal_files


def check_in_a_process(folder, path):
    """Whether the package, found through `path`, knows its files; run in `folder`."""
    program = (
        "from lamina.core import positions as p, provenance, source as s\n"
        "assert p.here.__code__.co_filename in p.internal_files\n"
        "assert s.one_line.__code__.co_filename in p.internal_files, p.internal_files\n"
        "print(provenance.place_of(p.here.__code__, 20).file)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PYTHONPATH": path},
    ).stdout


@pytest.fixture
def package(tmp_path):
    """A copy of the few modules that provenance needs."""
    root = Path(provenance.__file__).parents[1]
    files = ("provenance", "positions", "own_files", "source", "names")
    names = [*(f"core/{name}.py" for name in files), "codegen/later.py", "late_loading.py"]
    names += [f"errors/{path.name}" for path in (root / "errors").glob("*.py")]
    for name in names:
        target = tmp_path / "src" / "lamina" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((root / name).read_text("utf-8"), "utf-8")
    for name in ("", "core", "codegen"):
        (tmp_path / "src" / "lamina" / name / "__init__.py").write_text("")
    return tmp_path


def test_a_relative_path_to_the_package(package):
    assert check_in_a_process(package, "src") == "positions.py\n"


def test_the_package_in_a_zip_archive(package):
    with zipfile.ZipFile(package / "all.zip", "w") as archive:
        for path in (package / "src").rglob("*.py"):
            archive.write(path, path.relative_to(package / "src"))
    assert check_in_a_process(package, "all.zip") == "positions.py\n"


def test_an_error_without_a_place_of_its_own_shows_where_the_program_is():
    import lamina
    from lamina import nn

    with pytest.raises(lamina.errors.ShapeMismatch) as caught:
        nn.LSTM(4, 5)(lamina.randn(3, 2, 6))

    assert caught.value.places[0].expression == "nn.LSTM(4, 5)(lamina.randn(3, 2, 6))"
