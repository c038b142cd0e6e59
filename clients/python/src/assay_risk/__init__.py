"""Client of Assay, which assesses the risk of blockchain addresses and transfers."""

from .client import Assay
from .errors import ApiError, AssayError, ScreenInterrupted
from .retries import Retries

__all__ = ["ApiError", "Assay", "AssayError", "Retries", "ScreenInterrupted"]
