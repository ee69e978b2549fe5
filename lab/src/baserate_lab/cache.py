"""Cache folder for downloaded data, trained models and their outputs."""

import os
from pathlib import Path

VARIABLE = "BASERATE_CACHE"


def cache_path(*parts: str) -> Path:
    """Path in the cache, which need not exist; creates no folder.

    Parameters
    ----------
    *parts : str
        Names of folders below the root of the cache; the last may be a file.

    Returns
    -------
    pathlib.Path
        Below the folder named by the environment variable ``BASERATE_CACHE``, or else below the user's cache folder of
        the operating system.
    """
    root = os.environ.get(VARIABLE)
    if root:
        folder = Path(root).expanduser().absolute()
    else:
        import platformdirs

        folder = Path(platformdirs.user_cache_dir("baserate"))
    return folder.joinpath(*parts)


def cache_folder(*parts: str) -> Path:
    """Folder in the cache, as from `cache_path`, created if it does not exist."""
    folder = cache_path(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"the cache folder {folder} cannot be made ({error}); name another one in the environment variable "
            f"{VARIABLE}."
        ) from error
    return folder
