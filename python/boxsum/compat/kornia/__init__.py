"""Kornia: `filters`."""

from boxsum.compat._drop_in import rest_of

__getattr__, __dir__ = rest_of("kornia")
