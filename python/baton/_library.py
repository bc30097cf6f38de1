"""Finds libbaton and turns its answers (0 or -errno) into exceptions."""
import ctypes
import os


class BatonError(OSError):
    """What libbaton refused; errno says why."""


_loaded = None


def library():
    """libbaton, loaded once. BATON_LIBRARY names it; else the system's loader finds
    libbaton.so.1."""
    global _loaded
    if _loaded is None:
        try:
            _loaded = ctypes.CDLL(os.environ.get("BATON_LIBRARY") or "libbaton.so.1")
        except OSError as error:
            raise OSError("%s; install Baton, or name its libbaton.so.1 in BATON_LIBRARY"
                          % error) from None
    return _loaded


def check(answer, message=""):
    """0 passes; -errno becomes a BatonError with the library's own sentence where it has one."""
    if answer < 0:
        raise BatonError(-answer, message or os.strerror(-answer))
    return answer
