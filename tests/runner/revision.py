"""The commit of the tree, and a name for its exact state."""

import hashlib
import subprocess

from .workspace import ROOT


def commit() -> str:
    """The short name of the commit, with `+` where the tree differs from it."""
    name = _git("rev-parse", "--short=10", "HEAD").decode().strip() or "unknown"
    return name + ("+" if changes() else "")


def changes() -> str:
    """A digest of all that differs from the commit: `git diff HEAD`, and files that git does not know; empty if
    nothing does."""
    diff = _git("diff", "HEAD", "--binary")
    names = _git("ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    new = [name for name in sorted(names) if name]
    if not diff and not new:
        return ""
    digest = hashlib.sha256(diff)
    for name in new:
        digest.update(name + b"\0")
        path = ROOT / name.decode(errors="surrogateescape")
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def state() -> str:
    """The name of the state: the commit, and the digest of the changes where there are any."""
    name = _git("rev-parse", "HEAD").decode().strip() or "unknown"
    digest = changes()
    return f"{name}-{digest}" if digest else name


def _git(*arguments: str) -> bytes:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # the sources without their history
        return b""
