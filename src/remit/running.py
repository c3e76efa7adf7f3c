"""How a tool's code is run: in its time, off the loop if it blocks, and never past its own call.

Nothing here decides whether it may run; `remit.path` does, and hands the function in.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from functools import partial
from typing import Any

__all__ = ["Overdue", "returned"]


class Overdue(Exception):
    """The code took longer than its tool declared."""


class _Resumed:
    """A coroutine that has already taken its first step and waits for *first*."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], first: Any) -> None:
        self._coroutine = coroutine
        self._first = first

    def __await__(self) -> Generator[Any, Any, Any]:
        waiting = self._first
        while True:
            try:
                sent = yield waiting
            except GeneratorExit:
                self._coroutine.close()
                raise
            except BaseException as error:  # noqa: BLE001 - handed on, as `yield from` does (PEP 380)
                step: Callable[[], Any] = partial(self._coroutine.throw, error)
            else:
                step = partial(self._coroutine.send, sent)
            try:
                waiting = step()
            except StopIteration as ended:
                return ended.value
            except GeneratorExit as error:
                raise _own(error) from error


async def returned(
    function: Callable[..., Any],
    given: dict[str, Any],
    *,
    seconds: float,
    is_async: bool,
    inline: bool,
    threads: Executor,
) -> Any:
    """Return what *function* returns for the arguments *given*.

    Args:
        function: A tool's code.
        given: Its arguments by name.
        seconds: How long it may take.
        is_async: True if calling it makes a coroutine.
        inline: True runs a plain function on the event loop.
        threads: Where plain functions run otherwise, with the caller's context variables.

    Raises:
        Overdue: If it took longer. A coroutine is cancelled; a thread can't be, and runs on alone.
        BaseException: Whatever the function raises.
    """
    if is_async:
        coroutine = function(**given)
    elif inline:
        try:
            made = function(**given)
        except GeneratorExit as error:
            raise _own(error) from error
        if not inspect.isawaitable(made):
            return made
        coroutine = _awaited(made)
    else:
        coroutine = _in_thread(function, given, threads)
    # Most tools end without waiting: they need no timer, which costs more than all other stages.
    try:
        first = coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    except GeneratorExit as error:
        raise _own(error) from error
    span = asyncio.timeout(seconds)
    try:
        async with span:
            return await _Resumed(coroutine, first)
    except TimeoutError:
        if span.expired():
            raise Overdue from None
        raise


def _own(error: BaseException) -> RuntimeError:
    """Return what stands for *error*, which the tool's own code raised.

    Raised by the interpreter it would mean that the call itself is being torn down; a tool that
    raises it must end its own call alone.
    """
    return RuntimeError(f"the tool raised {type(error).__name__}")


async def _awaited(made: Any) -> Any:
    return await made


async def _in_thread(function: Callable[..., Any], given: dict[str, Any], threads: Executor) -> Any:
    context = contextvars.copy_context()

    def guarded() -> tuple[bool, Any]:
        # Not through the future: it can't carry StopIteration, and SystemExit would end the worker.
        try:
            return True, context.run(lambda: function(**given))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's side and raised there
            return False, error

    fine, made = await asyncio.get_running_loop().run_in_executor(threads, guarded)
    if not fine and isinstance(made, GeneratorExit | KeyboardInterrupt):
        raise _own(made) from made  # a real interrupt only ever reaches the main thread
    if not fine:
        raise made
    return await made if inspect.isawaitable(made) else made
