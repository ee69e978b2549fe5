"""Search for the real data of a problem with a stand-in: in a folder, in the cache, or by fetching them."""

from baserate_lab import datasets
from baserate_lab.cache import cache_path
from baserate_lab.datasets._fetch import DatasetRecipe, named_folder, obtain


def at_hand(dataset: str, *, fetch: bool = True) -> bool:
    """True if the real data set can be loaded.

    Parameters
    ----------
    dataset : str
        ``eurosat``, ``cinic10``, ``shl``, or ``arxiv-random`` for the whole metadata file of arXiv.
    fetch : bool
        True: fetch the data if they are neither in a folder nor in the cache.
    """
    recipe = _recipe(dataset)
    is_here = named_folder(recipe, None) is not None or cache_path("datasets", recipe.name, "arrays.npz").exists()
    if not is_here and not (fetch and any(getter is not None for _, getter in recipe.ways)):
        return False
    try:
        obtain(recipe)
    except datasets.DataNotFoundError:
        return False
    return True


def _recipe(dataset: str) -> DatasetRecipe:
    if dataset == "arxiv-random":
        return datasets.arxiv.WHOLE
    found: DatasetRecipe = getattr(datasets, dataset).RECIPE
    return found
