"""A person's own acceptance rule in the place of ours.

A rule is a function ``rule(p, q, token, draw)`` that is asked once for each draft until one is rejected:

    p, q    numpy arrays (V,) of float64: the target's and the drafter's distribution at this position, after
            temperature and the rest; read-only. For a deterministic proposal q is one-hot.
    token   the drafted id
    draw    a number, uniform in [0, 1)

It returns whether to accept the draft, or a pair (accept, residual): weights (V,), not negative and with a positive
sum, from which the correction is drawn if this draft is rejected. Without them that is max(p − q, 0). It must decide by
its arguments alone: a random choice of its own couldn't be replayed.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.errors import RuleError
from engine.rounds import SampledRule
from engine.sampling import choose
from engine.verify import Verdict, residual

Rule = Callable[[NDArray[np.float64], NDArray[np.float64], int, float], Any]


def load(spelled: str) -> Rule:
    """The function that ``module:function`` names; modules in the working directory are found too.

    Raises :class:`RuleError` when there is none, or when importing it fails.
    """
    module, _, function = spelled.partition(":")
    module = module.removesuffix(".py")
    if not module or not function.isidentifier():
        raise RuleError(f"The rule is {spelled!r}, but it must be module:function, such as my_rules:accept for the "
                        "function accept of my_rules.py in this folder.")
    here = Path.cwd()
    if str(here) not in sys.path:
        sys.path.append(str(here))  # behind everything else: a queue.py of the person's must not stand in for Python's
    try:
        found = getattr(_module(module, here), function, None)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise RuleError(f"There is no module {module} here or among the installed packages; --rule looks in "
                            f"{here} first.") from error
        raise RuleError(f"{module} couldn't be imported: {error}{_place(error)}.",
                        details=traceback.format_exc()) from error
    except (Exception, SystemExit) as error:
        raise RuleError(f"{module} couldn't be imported: {type(error).__name__}: {error}{_place(error)}.",
                        details=traceback.format_exc()) from error
    if not callable(found):
        raise RuleError(f"{module} has no function {function}" + (
            "." if found is None else f", only a {type(found).__name__} of that name."))
    try:
        inspect.signature(found).bind(None, None, 0, 0.0)
    except TypeError as error:
        raise RuleError(f"{spelled} must take four arguments, (p, q, token, draw): {error}.") from error
    except ValueError:  # a compiled function that doesn't tell
        pass
    return found  # type: ignore[no-any-return]


def _module(name: str, here: Path) -> Any:
    """The file of that name in this folder, whatever else is called so; or else what Python finds."""
    file = here.joinpath(*name.split(".")).with_suffix(".py")
    spec = importlib.util.spec_from_file_location(f"rule {name}", file) if file.is_file() else None
    if spec is None or spec.loader is None:
        return importlib.import_module(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and the like look themselves up there
    spec.loader.exec_module(module)
    return module


def _place(error: BaseException) -> str:
    """The last line of the person's own that an error came through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__ and "importlib" not in
              f.filename]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def judged_by(rule: Rule, name: str) -> SampledRule:
    """The judgement that ``rule`` makes, draft by draft; errors inside it are told as its own."""

    def judge(p: torch.Tensor, q: torch.Tensor | None, drafts: torch.Tensor, accept: torch.Tensor,
              final: torch.Tensor) -> Verdict:
        k = len(drafts)
        proposed = torch.nn.functional.one_hot(drafts, p.shape[-1]).to(p.dtype) if q is None else q
        passed, weights = torch.zeros(k, dtype=torch.bool), p[k]
        for i in range(k):
            accepted, left = ask(rule, name, p[i], proposed[i], int(drafts[i]), float(accept[i]))
            if not accepted:
                weights = residual(p[i], proposed[i]) if left is None else left
                break
            passed[i] = True
        count = passed.sum()
        mass = weights.sum(dtype=torch.float64)
        weights = torch.where(mass > 0, weights, p[count])
        at = torch.arange(k)
        return Verdict(count, passed, choose(weights, final[count]), mass, p[at, drafts].double(),
                       proposed[at, drafts].double())

    return judge


def ask(rule: Rule, name: str, p: torch.Tensor, q: torch.Tensor, token: int, draw: float
         ) -> tuple[bool, torch.Tensor | None]:
    """The rule's answer for one draft: accepted, and its residual if it gave one. ``p``, ``q`` (V,)."""
    rows = [row.double().cpu().numpy().copy() for row in (p, q)]
    for row in rows:
        row.setflags(write=False)
    try:
        first, again = (rule(rows[0], rows[1], token, draw) for _ in range(2))
        answer, repeated = _read(first, len(p), name), _read(again, len(p), name)
    except RuleError:
        raise
    except (Exception, SystemExit) as error:
        raise RuleError(f"{name} raised {type(error).__name__}: {error}{_place(error)}, asked about token {token} with "
                        f"draw {draw:.6g}.", details=traceback.format_exc()) from error
    if answer[0] != repeated[0] or not np.array_equal(answer[1], repeated[1]):
        raise RuleError(f"{name} gave two answers to one question (token {token}, draw {draw:.6g}); it must decide by "
                        "its arguments alone: use the draw it is given instead of random numbers of its own.")
    weights = answer[1]
    return answer[0], None if weights is None else torch.from_numpy(weights).to(p.dtype)


def _read(answer: Any, size: int, name: str) -> tuple[bool, Any]:
    accepted, weights = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    if not isinstance(accepted, (bool, np.bool_)):
        raise RuleError(f"{name} returned {answer!r:.80}, but it must return True or False, or a pair of that and the "
                        "residual.")
    if weights is not None:
        weights = np.array(weights, dtype=np.float64)
        if weights.shape != (size,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise RuleError(f"{name} returned a residual of shape {weights.shape} that isn't {size} finite weights of "
                            "0 or more.")
        if not accepted and not weights.sum() > 0:
            raise RuleError(f"{name} rejected a draft and returned a residual that sums to 0: no token could be drawn.")
    return bool(accepted), weights
