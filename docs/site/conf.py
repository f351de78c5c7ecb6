"""Sphinx's settings; scripts/docs builds the site from docs/ with them."""

import pathlib
import re

import boxsum

root = pathlib.Path(__file__).resolve().parents[2]

project = "boxsum"
author = "The boxsum authors"
version = release = boxsum.__version__
extensions = [
    "breathe",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
# The headers as Doxygen read them: names of files are unique in each folder.
breathe_projects = {folder: str(root / "build" / "docs" / "xml" / folder) for folder in ("host", "cuda")}
breathe_default_members = ("members",)
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["site", "gallery", "images"]
root_doc = "index"
default_role = "py:obj"
myst_heading_anchors = 4
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False, "navbar_align": "left"}
html_title = f"boxsum {version}"  # short: a phone's header holds it
html_sidebars = {"*": [], "reference/*": []}  # which have no pages below them
html_static_path, html_css_files = ["static"], ["site.css"]
html_copy_source = html_show_sourcelink = False
autodoc_mock_imports = ["torch"]  # its page needs names and documentation only
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring, napoleon_numpy_docstring = True, False

sphinx_gallery_conf = {
    "examples_dirs": str(root / "docs" / "gallery"),
    "gallery_dirs": "examples",
    "filename_pattern": "plot_",
    "abort_on_example_error": True,
    "write_computation_times": False,  # its page loads scripts from elsewhere
    "download_all_examples": False,
    "remove_config_comments": True,
}

OUTSIDE = re.compile(r"\[([^\]\[]*)\]\(((?:\.\./)+)([^)#\s]+)(#[^)]*)?\)")


def keep_links_inside(app, document, source):
    """Links to files of the tree that are no pages become the names of these files."""
    folder = (pathlib.Path(app.srcdir) / document).parent

    def replaced(link):
        to = (folder / (link[2] + link[3])).resolve()
        inside = to.is_relative_to(app.srcdir) and to.is_file()
        return link[0] if inside else f"{link[1]} (`{link[3]}`)" if "`" not in link[1] else link[1]

    source[0] = OUTSIDE.sub(replaced, source[0])


def without_emphasis(app, what, name, thing, options, lines):
    """Asterisks in docstrings are those of Python, not reStructuredText's."""
    for i, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [re.sub(r"([*|])", r"\\\1", part) for part in parts[::2]]
        lines[i] = "``".join(parts)


def setup(app):
    app.connect("source-read", keep_links_inside)
    app.connect("autodoc-process-docstring", without_emphasis, priority=900)
