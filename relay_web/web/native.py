"""Work that would hold the gevent hub, done in real threads."""

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import gevent
from gevent.monkey import is_module_patched
from gevent.threadpool import ThreadPool

P = ParamSpec("P")
T = TypeVar("T")

#: Two hash at a time: a flood of sign-ins must not take every core from everybody else.
_THREADS: Final = 2
_pools: dict[Any, ThreadPool] = {}


def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The function's result, computed beside the hub; simply called where gevent runs nothing."""
    if not is_module_patched("threading"):
        return function(*args, **kwargs)
    hub = gevent.get_hub()
    if hub not in _pools:
        _pools[hub] = ThreadPool(_THREADS)
    result: T = _pools[hub].apply(function, args, kwargs)
    return result
