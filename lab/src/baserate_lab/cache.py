"""Where downloaded data, trained models and their outputs are kept between runs."""

import os
from pathlib import Path

VARIABLE = "BASERATE_CACHE"


def cache_path(*parts: str) -> Path:
    """A place in the cache, whether or not there is anything: reading makes no folders.

    Parameters
    ----------
    *parts : str
        Names of the folders below the root of the cache, perhaps with that of a file as the last.

    Returns
    -------
    pathlib.Path
        Below the folder that the environment variable ``BASERATE_CACHE`` names, or else below the place that the
        operating system has for caches.
    """
    root = os.environ.get(VARIABLE)
    if root:
        folder = Path(root).expanduser().absolute()
    else:
        import platformdirs

        folder = Path(platformdirs.user_cache_dir("baserate"))
    return folder.joinpath(*parts)


def cache_folder(*parts: str) -> Path:
    """The folder of the cache that `cache_path` names, made if it is not there."""
    folder = cache_path(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"the cache folder {folder} cannot be made ({error}); name another one in the environment variable "
            f"{VARIABLE}."
        ) from error
    return folder
