"""Studies: files that say what is played, and stores that keep the results."""

from .._validate import require_extra

require_extra("studies", "jinja2", "matplotlib", "pydantic", "xarray", "zarr")
