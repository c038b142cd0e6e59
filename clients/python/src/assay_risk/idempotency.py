"""The header field of idempotency keys."""

from __future__ import annotations


def quoted(key: str) -> str:
    """Returns an idempotency key as the header field has it: a quoted text (RFC 9651).

    Raises `ValueError` for characters that such a text cannot have.
    """
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"an idempotency key has printable ASCII characters only, not {key!r}")
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
