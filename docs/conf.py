"""The site: ``pip install '.[docs]'``, then ``sphinx-build -W -b html docs docs/_build``.  It needs no network."""

import sys
from pathlib import Path

import heavybandits as hb

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "heavybandits"
author = "The heavybandits developers"
version = release = hb.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "api_pages",
    "policy_pages",
    "root_pages",
]
exclude_patterns = ["_build", "jupyter_execute", "gallery/*.ipynb"]  # those notebooks are downloads
html_math_renderer = "mathml"
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 600  # seconds for a cell, enough on a busy machine too
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "remove"  # progress

autosummary_generate = True
autodoc_typehints = "none"  # the signatures have them
numpydoc_show_class_members = False  # methods follow the description of a class, with their own examples

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("figures.set_style",),
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,  # that page would load scripts from the network
    "plot_gallery": "True",
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "heavybandits"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {name: [] for name in ("index", "start", "performance", "changelog")}
html_theme_options = {
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "The heavybandits developers; MIT licence"
