"""The leaf rules, shown by running them: a few lines, what came out, and why.

Each rule is a small program that is really run. What is printed beside it is read from its tensors,
and the reasons come from `lamina.why`.
"""

from __future__ import annotations

import linecache
import warnings
from dataclasses import dataclass
from typing import Any

import lamina
from lamina.demo.screen import Screen


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: a claim, a program that shows it, what to look at, and what to ask `why` about."""

    claim: str
    program: str
    shows: tuple[str, ...]
    asks: str | None = None


RULES = (
    Rule(
        "Moving a tensor that requires grad makes a new one, which is not a leaf.",
        "b = torch.rand(10, requires_grad=True)\nb = b.cuda()",
        ("b.is_leaf", "b.requires_grad", "b.grad_fn"),
        "b",
    ),
    Rule(
        "Moved first, asked for gradients afterwards: a leaf.",
        "e = torch.rand(10).cuda()\ne.requires_grad_()",
        ("e.is_leaf", "e.requires_grad", "e.grad_fn"),
        "e",
    ),
    Rule(
        "Created where it lives: a leaf.",
        'f = torch.rand(10, requires_grad=True, device="cuda")',
        ("f.is_leaf", "f.device"),
    ),
    Rule(
        "The same three, in a line each: the order decides.",
        "b = torch.rand(10, requires_grad=True).cuda()\n"
        "e = torch.rand(10).cuda().requires_grad_()\n"
        'f = torch.rand(10, requires_grad=True, device="cuda")',
        ("b.is_leaf", "e.is_leaf", "f.is_leaf"),
    ),
    Rule(
        "A gradient flows back through a move: the leaf's .grad is where the leaf is.",
        "a = torch.ones(3, requires_grad=True)\nb = a.cuda()\nb.retain_grad()\n"
        "(b * 2).sum().backward()",
        ("a.grad", "a.grad.device", "b.grad.device"),
    ),
    Rule(
        "detach() gives a tensor outside the graph: a leaf that needs no gradient.",
        "b = torch.rand(10, requires_grad=True)\nd = b.detach()",
        ("d.is_leaf", "d.requires_grad", "d.data_ptr() == b.data_ptr()"),
        "d",
    ),
    Rule(
        "Every operation on a tracked tensor gives a non-leaf: views, casts and copies too.",
        "a = torch.rand(4, requires_grad=True)\n"
        "results = [a + 1, a.view(2, 2), a[:2], a.double(), a.clone(), torch.exp(a)]",
        ("[r.is_leaf for r in results]",),
    ),
    Rule(
        "What does not require grad is a leaf by convention, even if it was computed.",
        "x = torch.rand(3)\ny = torch.mean(x * 2 + 1)",
        ("y.is_leaf", "y.requires_grad", "y.grad_fn"),
        "y",
    ),
    Rule(
        "One tracked input is enough, unless recording is off.",
        "a = torch.rand(3)\nw = torch.rand(3, requires_grad=True)\n"
        "with torch.no_grad():\n    quiet = a + w",
        ("(a + w).requires_grad", "torch.cat([a, w]).requires_grad", "quiet.requires_grad"),
        "quiet",
    ),
    Rule(
        "A non-leaf knows the operation that made it.",
        "x = torch.arange(4.0, requires_grad=True)\nm = torch.mean(x)\nm.backward()",
        ("m.grad_fn.name()", "x.grad_fn", "x.grad"),
    ),
    Rule(
        "backward() fills .grad of leaves only.",
        "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\nh = w * w\nh.sum().backward()",
        ("w.grad", "h.grad"),
        "h",
    ),
    Rule(
        "retain_grad() keeps an intermediate's gradient.",
        "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\nh = w * w\nh.retain_grad()\n"
        "(3 * h).sum().backward()",
        ("h.grad", "w.grad", "h.retains_grad"),
    ),
    Rule(
        "A network's inputs and weights are the leaves of its graph.",
        "net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))\n"
        "x = torch.rand(5, 4)\ny = net(x)",
        ("[p.is_leaf for p in net.parameters()]", "x.is_leaf", "y.is_leaf"),
    ),
    Rule(
        "An optimizer takes leaves; a computed tensor is refused.",
        "w = torch.tensor([4.0], requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.1)\n"
        "for _ in range(3):\n    opt.zero_grad()\n    (w * w).sum().backward()\n    opt.step()\n"
        "try:\n    torch.optim.SGD([w * 2], lr=0.1)\n"
        "except ValueError as error:\n    refusal = error",
        ("w", "refusal"),
    ),
)


def run_rule(rule: Rule, name: str) -> dict[str, Any]:
    """Run a rule's program; its names. The source is made known, so that errors can show it."""
    lines = rule.program.splitlines(keepends=True)
    linecache.cache[name] = (len(rule.program), None, lines, name)
    names: dict[str, Any] = {"torch": lamina, "nn": lamina.nn, "__name__": name}
    exec(compile(rule.program, name, "exec"), names)  # our own text, shown as it runs
    return names


def show_leaf_rules(screen: Screen) -> None:
    """Run all rules on a simulated CUDA device and print what they show."""
    screen.title("Which tensors are leaves, and where do gradients go?")
    with lamina.cuda.simulate(count=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, rule in enumerate(RULES, 1):
            screen.heading(f"{number}. {rule.claim}")
            names = run_rule(rule, f"rule_{number}.py")
            screen.code(rule.program)
            for expression in rule.shows:
                value = eval(expression, names)  # our own expressions, listed above
                screen.answer(expression, str(value))
            if rule.asks is not None:
                screen.reason(f"why({rule.asks})", str(lamina.why(names[rule.asks])))
