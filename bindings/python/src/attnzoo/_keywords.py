"""Keyword arguments that are not taken: errors that say which are, for those who come from other libraries."""
from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any, Callable, List, Sequence, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def keyword_names(function: Callable[..., Any]) -> List[str]:
    """What a function takes by name."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [item.name for item in inspect.signature(function).parameters.values()
            if item.kind in by_name and item.name not in ("self", "cls")]


def advice(name: str, known: Sequence[str]) -> str:
    """The ending of an error: what is nearest to the name, or all that there is."""
    nearest = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {nearest[0]}?" if nearest else f"it has {', '.join(known) or 'none'}"


def tells_keywords(function: Function) -> Function:
    """The function, with a better error for a name that it does not take."""
    known = keyword_names(function)
    called = function.__qualname__.replace(".__init__", "")

    @functools.wraps(function)
    def called_with_known(*arguments: Any, **options: Any) -> Any:
        # Looked at only when something was wrong, so that a good call pays nothing.
        try:
            return function(*arguments, **options)
        except TypeError:
            unknown = [name for name in options if name not in known]
            if not unknown:
                raise
        raise TypeError(f"{called} has no argument '{unknown[0]}'; {advice(unknown[0], known)}")

    return cast(Function, called_with_known)
