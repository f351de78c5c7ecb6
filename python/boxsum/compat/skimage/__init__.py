"""scikit-image: `feature`, `filters` and `transform`."""

from boxsum.compat._drop_in import rest_of

__getattr__, __dir__ = rest_of("skimage")
