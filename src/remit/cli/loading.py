"""Find the app that ``module:app`` names.

Loading runs the module's own code, as importing it does: name only modules that you trust.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from remit.app import Remit
from remit.cli.failing import CommandError, UsageError, near
from remit.contract import DeclarationError

__all__ = ["load"]


def load(target: str) -> Remit:
    """Return the app that *target* names, e.g. ``blog:blog`` or ``shop.agents:app.inner``.

    The current directory is looked in first.

    Raises:
        UsageError: If it names nothing, or no app; the text says the mend.
        CommandError: If the module is there but can't be imported.
    """
    name, colon, attribute = target.partition(":")
    if name.endswith(".py") or "/" in name or "\\" in name:
        dotted = ".".join(Path(name).with_suffix("").parts)
        raise UsageError(
            f"{target} is a file's path; name the module: {dotted}:{attribute or 'app'}"
        )
    if not name:
        raise UsageError(f"{target!r} names no module; write MODULE:APP, e.g. blog:blog")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _imported(name)
    if not colon or not attribute:
        apps = _apps(module)
        hint = f" Did you mean {name}:{apps[0]}?" if apps else ""
        raise UsageError(f"{target!r} names no app in it; write MODULE:APP.{hint}")
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            where = f"module {name}" if found is module else f"{name}:{attribute}"
            raise UsageError(f"{where} has no {part!r}.{near(part, _apps(module))}")
        found = getattr(found, part)
    if not isinstance(found, Remit):
        kind = type(found).__name__
        raise UsageError(
            f"{target} is a {kind}, not a remit.Remit.{near(attribute, _apps(module))} "
            "An app is made by app = remit.Remit('name')."
        )
    return found


def _apps(module: types.ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, Remit)]


def _imported(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except DeclarationError as error:
        raise CommandError(f"{name} declares something that can't be kept: {error}") from None
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            modules = [one.name for one in pkgutil.iter_modules([str(Path.cwd())])]
            raise UsageError(
                f"there is no module {error.name!r} in {Path.cwd()} or where Python looks."
                f"{near(name, modules)}"
            ) from None
        raise CommandError(f"{name} can't be imported: {_told(error)}") from None
    except Exception as error:
        raise CommandError(f"{name} can't be imported: {_told(error)}") from error
    except SystemExit as error:
        # A script without `if __name__ == "__main__"` would end this command as if it were done.
        raise CommandError(
            f"{name} ends the process when it is imported (exit {error.code})"
        ) from None


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    where = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    return f"{type(error).__name__}: {error}{where}"
