"""Programs and weights of others, from files: Lamina fetches nothing from the network."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import unquote, urlparse

from lamina import errors
from lamina.io import load as load_file

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX: Final = re.compile(r"-([a-f0-9]*)\.")

_folders: dict[str, str] = {}


def _get_torch_home() -> str:
    """The folder for caches: `$TORCH_HOME`, or `torch` in the user's cache."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for what programs fetch themselves: `$TORCH_HOME/hub`, or as `set_dir` said."""
    return _folders.get("hub") or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set what `get_dir` answers."""
    _folders["hub"] = os.path.expanduser(d)


def _refuse(what: str, repair: str) -> NoReturn:
    raise errors.NotSupported(
        f"torch.hub fetches {what} from the network, which Lamina does not", help=[repair]
    )


# --- weights --------------------------------------------------------------------------------------


def load_state_dict_from_url(
    url: str, model_dir: str | os.PathLike[str] | None = None, map_location: Any = None,
    progress: bool = True, check_hash: bool = False, file_name: str | None = None,
    weights_only: bool = False,
) -> Any:  # fmt: skip
    """The weights of a file that is here already.

    Args:
        url: A path, a `file:` URL, or an address whose file was put where PyTorch keeps it: into
            `model_dir`, under `file_name` or the address's last part.
        model_dir: That folder; without it `checkpoints` in `get_dir()`.
        map_location: Where the tensors go, as for `load`.
        progress, check_hash, weights_only: Accepted.

    Raises:
        NotImplementedError: The file is not here: the text says where to put it.
    """
    parts = urlparse(url)
    folder = Path(model_dir) if model_dir else Path(get_dir(), "checkpoints")
    kept = folder / (file_name or os.path.basename(parts.path))
    found = next((path for path in (*_local(url), kept) if path.is_file()), None)
    if found is None:
        _refuse("weights", f"download {url} yourself, to {kept}: then this call reads it")
    return load_file(found, map_location)


def _local(url: str) -> tuple[Path, ...]:
    """The path that a `file:` URL or a plain path means."""
    parts = urlparse(url)
    if parts.scheme in ("http", "https", "ftp"):
        return ()
    return (Path(unquote(parts.path) if parts.scheme == "file" else url),)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> NoReturn:
    """Refuse: files are fetched by you.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("files", f"download {url} to {dst}")


# --- programs -------------------------------------------------------------------------------------


def load(
    repo_or_dir: Any, model: str, *args: Any, source: str = "github", trust_repo: Any = None,
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """What a function of a folder's `hubconf.py` makes.

    Args:
        repo_or_dir: The folder.
        model: The function's name; the arguments after it are the function's.
        source: "local". (PyTorch's other one, "github", is refused.)

    Raises:
        NotImplementedError: `source` is "github".
        ValueError: `source` is something else.
        RuntimeError: The folder has no such function.
    """
    if source == "github":
        _refuse("programs", f"clone {repo_or_dir}, and pass its folder with source='local'")
    if source != "local":
        raise errors.InvalidValue(
            f'Unknown source: "{source}". Allowed values: "github" | "local".'
        )
    return _entry(_program(repo_or_dir), model)(*args, **kwargs)


def list(
    github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None,
    verbose: bool = True,
) -> Any:  # fmt: skip
    """The names of the functions in the `hubconf.py` of a folder.

    Raises:
        NotImplementedError: It is not a folder.
    """
    module = _program_here(github)
    return [name for name in dir(module) if callable(getattr(module, name)) and name[0] != "_"]


def help(
    github: Any, model: str, force_reload: bool = False, skip_validation: bool = False,
    trust_repo: Any = None,
) -> Any:  # fmt: skip
    """The docstring of a function in the `hubconf.py` of a folder.

    Raises:
        NotImplementedError: It is not a folder.
    """
    return _entry(_program_here(github), model).__doc__


def _program_here(github: Any) -> Any:
    if not os.path.isdir(github):
        _refuse("programs", f"clone {github}, and pass its folder")
    return _program(github)


def _program(folder: Any) -> Any:
    """A folder's `hubconf.py` as a module; what it imports is looked up in the folder too."""
    path = Path(folder, "hubconf.py")
    spec = spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise errors.InvalidArgument(f"torch.hub: there is no file {path}")
    module = module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    wanted = [name for name in getattr(module, "dependencies", ()) if name != "torch"]
    missing = [name for name in wanted if find_spec(name) is None]
    if missing:
        raise errors.InvalidArgument(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: Any, name: str) -> Any:
    found = getattr(module, name, None)
    if not callable(found):
        raise errors.InvalidArgument(f"Cannot find callable {name} in hubconf")
    return found
