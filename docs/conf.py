"""Settings of the documentation's build by Sphinx: `make docs`. Nothing is fetched while it builds."""

import sys
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

import baserate

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "baserate"
author = "The baserate developers"
copyright = "2026, the baserate developers"  # noqa: A001 (Sphinx's name)
release = version = baserate.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "api_pages",
    "mended",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_extensions", "**/README.rst", "examples/*.ipynb", "examples/sg_*"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!baserate).*")]  # names of other libraries: no inventory is fetched

myst_enable_extensions = ["dollarmath", "colon_fence", "html_image"]
myst_heading_anchors = 4
# The gallery's settings hold objects; an attribute that many classes have, such as prior_, is a link to one of them.
# The folder of a checkout may have a space in its name: the links of the gallery are relative, and hold.
suppress_warnings = ["config.cache", "ref.python", "sphinx_gallery.space_in_filename"]

# Classes of scikit-learn, river and Python, whose methods are explained there.
_FOREIGN = "object, Exception, Warning, Protocol, NamedTuple, tuple, str, Enum, Wrapper, Classifier, Estimator, Base"
_FOREIGN += ", BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _MetadataRequester"
autodoc_default_options = {"members": True, "inherited-members": _FOREIGN, "undoc-members": False}
autodoc_default_options["exclude-members"] = ",".join(
    f"set_{method}_request" for method in ("fit", "partial_fit", "predict", "predict_proba", "score", "update_labels")
)  # made by scikit-learn, with references into its own documentation
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"never",  # tests run the examples; the build only shows them
    "within_subsection_order": FileNameSortKey,
    "subsection_order": ExplicitOrder(["*"]),
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_signature": False,
    "write_computation_times": False,  # its page loads scripts from elsewhere
    "remove_config_comments": True,
    "default_thumb_file": str(Path(__file__).parent / "images" / "low_switching.svg"),
    "copyfile_regex": r".*\.rst",
}

html_theme = "pydata_sphinx_theme"
html_title = "baserate"
html_static_path = ["_static"]
html_css_files = ["baserate.css"]
html_js_files = ["toggles.js"]
html_context = {"default_mode": "auto"}  # without one, the theme complains in the console of a first visit
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "changelog": []}
html_theme_options = {
    "logo": {"text": "baserate"},
    "navbar_align": "left",
    "collapse_navigation": True,  # toggles of the theme have no name
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
