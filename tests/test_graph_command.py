"""`lamina graph`: runs a program, and writes what its backward pass goes through."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

TRAINING = """
    import sys, torch
    print(*sys.argv[1:])
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(16, 4)
    for step in range(3):
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    print("finished")
"""


@pytest.fixture
def lamina_graph(tmp_path):
    def run(program, *words):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        line = [sys.executable, "-m", "lamina", "graph", *words]
        line[4:4] = [] if path.name in words else [path.name]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False,
                              timeout=120)  # fmt: skip

    return run


def test_without_options_a_page_is_written_beside_nothing_else(lamina_graph, tmp_path):
    done = lamina_graph(TRAINING)
    assert (done.returncode, done.stdout.split()) == (0, ["finished"])
    assert "program.graph.html: the graph of loss (pass 3; 3 passes went through it)" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["program.graph.html", "program.py"]


def test_options_stand_before_or_after_the_program(lamina_graph, tmp_path):
    done = lamina_graph(TRAINING, "--pass=first", "program.py", "--epochs", "3", "-o", "x.json",
                        "a", "--", "-o", "b")  # fmt: skip
    assert done.stdout.splitlines() == ["--epochs 3 a -o b"]  # and it did not finish
    model = json.loads((tmp_path / "x.json").read_text())
    assert model["title"] == "loss"
    assert [node["word"] for node in model["nodes"] if node["kind"] == "operation"] == [
        "linear", "tanh", "linear", "pow", "mean",
    ]  # fmt: skip
    assert [group["path"] for group in model["groups"]] == ["net", "net.0", "net.1", "net.2"]


def test_text_goes_to_the_screen(lamina_graph):
    done = lamina_graph(TRAINING, "-o", "-", "--pass", "2", "--values")
    assert "Graph of loss: 5 operations, 4 leaves" in done.stdout
    assert "(norm " in done.stdout
    assert "\x1b" not in done.stdout


def test_each_graph_of_another_form_is_written(lamina_graph, tmp_path):
    program = """
        import torch
        w = torch.ones(2, requires_grad=True)
        for power in (2, 2, 3):
            y = w * w if power == 2 else w * w * w
            y.sum().backward()
    """
    done = lamina_graph(program, "--pass", "each", "-o", "out.txt")
    assert done.returncode == 0
    assert "3 operations" in (tmp_path / "out.2.txt").read_text()
    assert "2 operations" in (tmp_path / "out.1.txt").read_text()


def test_without_a_pass_what_was_computed_last_is_drawn(lamina_graph):
    program = """
        import torch
        w = torch.ones(2, requires_grad=True)
        y = torch.exp(w)
        z = y.sum()
        z.detach()
    """
    done = lamina_graph(program, "-o", "-")
    assert "Graph of z: 2 operations" in done.stdout


def test_nothing_to_draw_is_said(lamina_graph):
    done = lamina_graph("x = 1")
    assert done.returncode == 1
    assert "nothing to draw" in done.stderr


def test_a_pass_that_never_came(lamina_graph):
    done = lamina_graph(TRAINING, "--pass", "9", "-o", "-")
    assert "there were only 3 backward passes; the last one is drawn" in done.stderr
    assert "Graph of loss" in done.stdout


def test_a_program_that_fails_is_drawn_with_its_failure(lamina_graph, tmp_path):
    program = """
        import torch
        x = torch.ones(2, requires_grad=True)
        h = torch.tanh(x)
        h += 1
        h.sum().backward()
    """
    done = lamina_graph(program, "-o", "x.txt")
    assert done.returncode == 1
    assert "modified by an inplace operation" in done.stderr
    assert done.stderr.count("Traceback") == 1
    assert "The pass fails here" in (tmp_path / "x.txt").read_text()


def test_the_programs_own_exit_status_is_kept(lamina_graph, tmp_path):
    program = """
        import sys, torch
        torch.ones(2, requires_grad=True).sum().backward()
        sys.exit(7)
    """
    assert lamina_graph(program).returncode == 7
    assert (tmp_path / "program.graph.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_an_interrupted_program_is_drawn(lamina_graph, tmp_path):
    program = """
        import os, signal, torch
        torch.ones(2, requires_grad=True).sum().backward()
        os.kill(os.getpid(), signal.SIGINT)
    """
    done = lamina_graph(program)
    assert done.returncode in (130, -signal.SIGINT)
    assert (tmp_path / "program.graph.html").exists()


@pytest.mark.parametrize(("words", "said"), [
    (["-o", "x.png"], "must end in .html, .svg, .txt, .json"),
    (["-o", "none/x.svg"], "there is no folder"),
    (["--pass", "0"], "neither first, last, each nor a number"),
])  # fmt: skip
def test_a_mistake_is_found_before_the_program_runs(lamina_graph, words, said):
    done = lamina_graph("print('ran')", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_no_such_program(tmp_path):
    line = [sys.executable, "-m", "lamina", "graph", "none.py"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "can't open file" in done.stderr


def test_a_compiled_step_is_drawn_as_it_is_captured(lamina_graph):
    program = """
        import torch
        w = torch.ones(2, requires_grad=True)
        @torch.compile
        def step():
            loss = (w * w).sum()
            loss.backward()
            return loss
        step()
        step()
    """
    done = lamina_graph(program, "-o", "-")
    assert "Graph of loss: 2 operations, 1 leaf" in done.stdout
