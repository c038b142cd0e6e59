"""Requirements of tests that a machine may not meet.

A test with requirements has `#[ignore = "needs NAME, NAME"]`: plain `cargo test` reports it as ignored. The
runner runs it if the machine meets all of them, and otherwise reports it as ignored, with the reason.
"""

import os
import shutil
import subprocess
from pathlib import Path

from .tools import Tools
from .workspace import ROOT

PREFIX = "needs "


class Needs:
    """The requirements of tests on this machine.

    `lacking` maps each requirement to the reason why it is not met and the remedy, or to None if it is met.
    """

    def __init__(self, tools: Tools, full: bool):
        only_full = "built by ./tests/run --full"
        self.lacking = {
            "test data": None if test_data() else f"not in {_test_data_folder()}: set ASSAY_TEST_DATA",
            "root": None if _can_mount() else "a disk is mounted",
            "faketime": None if any(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")) else "a package",
            "Litecoin Core": None if shutil.which("litecoind") else "a package",
            "Helm": None,
            "Kubernetes": None,
            "btcd": None,
            "geth": None if full or tools.has_geth() else only_full,
            "anvil": _lacks_npm(),
            "API clients": _lacks_npm() if full or tools.has_clients() else only_full,
            "OpenID Connect issuer": _lacks_npm(),
            "Bitcoin Core": None if full or tools.has_bitcoin_core() else only_full,
            "browser": None if full or tools.has_browser() else only_full,
            "manifest linters": None if full or tools.has_linters() else only_full,
            "Kubernetes node": _lacks_node() if full else "run by ./tests/run --full",
            "more time": None if full else "run by ./tests/run --full",
        }

    def missing(self, message: str) -> list[str]:
        """The unmet requirements of a test, from the message of its `ignore` attribute."""
        names = requirements(message)
        for name in names:
            if name not in self.lacking:
                raise ValueError(f'unknown requirement "{name}" (known: {", ".join(self.lacking)})')
        return [name for name in names if self.lacking[name] is not None]

    def explain(self, name: str) -> str:
        return f"{name} ({self.lacking[name]})"


def requirements(message: str) -> list[str]:
    """The requirements of a test, from the message of its `ignore` attribute; none without a message."""
    if not message:
        return []
    if not message.startswith(PREFIX):
        raise ValueError(f'the reason "{message}" must begin with "{PREFIX}"')
    return message.removeprefix(PREFIX).split(", ")


def _test_data_folder() -> Path:
    return Path(os.environ.get("ASSAY_TEST_DATA") or ROOT.parent / "shared/data")


def test_data() -> Path | None:
    """The folder of real data, or None."""
    folder = _test_data_folder()
    return folder if (folder / "README.md").is_file() else None


def _lacks_npm() -> str | None:
    """The reason why packages of npm cannot be installed, or None."""
    return None if shutil.which("npm") else "npm, which comes with Node.js, is not installed"


def _can_mount() -> bool:
    if os.geteuid() != 0:
        return False
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _lacks_node() -> str | None:
    """The reason why a real Kubernetes node cannot run on this machine, or None."""
    programs = ["containerd", "ctr", "runc", "nft", "iptables", "ip", "unshare", "nsenter"]
    lacking = [program for program in programs if not shutil.which(program)]
    if not Path("/usr/lib/cni/bridge").exists():
        lacking.append("CNI plugins")
    if os.geteuid() != 0:
        lacking.append("root")
    if not Path("/sys/fs/cgroup/cpu").is_dir():
        lacking.append("control groups of version 1")
    return "lacks " + ", ".join(lacking) if lacking else None
