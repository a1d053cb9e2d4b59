"""The configuration of the guide. ``symformer site`` builds the guide as a part of the site.

To build it alone: ``pip install -e '.[site]' && sphinx-build -W docs FOLDER``.
"""

import sys
from pathlib import Path

from symformer import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "symformer"
author = "The symformer authors"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "command_reference",
    "listing_functions",
    "math_in_mathml",
    "readable_signatures",
    "site_links",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
root_doc = "index"

# Markdown. Headings have the anchors that GitHub gives them, so that links work in both places.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"
smartquotes = False  # text is copied from the sources unchanged

# The API reference: one page for each name, from its docstring.
# The names of pages that differ only in case would be one file on some systems.
autosummary_filename_map = {
    "symformer.model": "symformer.model-function",
    "symformer.component": "symformer.component-function",
}
autodoc_default_options = {"members": True, "member-order": "bysource", "exclude-members": "__init__, __new__"}
autodoc_mock_imports = ["torch", "transformers", "diffusers"]  # the guide is the same without them
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # autodoc writes them

# Every reference must resolve, except in annotations, which name types of other packages and of internal
# modules.
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]

html_theme = "furo"
html_title = "symformer guide"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_search_summary = False  # the search would fetch every page that it finds
html_use_index = False
html_domain_indices = False
html_theme_options = {
    "announcement": "site",  # the links to the other parts of the site, in _templates/page.html
    "light_css_variables": {
        "color-brand-primary": "#0b57a4",
        "color-brand-content": "#0b57a4",
        "color-brand-visited": "#0b57a4",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8ab8f5",
        "color-brand-content": "#8ab8f5",
        "color-brand-visited": "#8ab8f5",
    },
}
