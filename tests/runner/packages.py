"""Debian packages that the build and the tests need, and their installation."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Iterable

from .steps import Failure, Step

# Each package with a program or path that shows that it is installed.
PACKAGES = {
    "build-essential": "g++",
    "curl": "curl",
    "jq": "jq",
    "faketime": "faketime",
    "litecoind": "litecoind",
    "chromium": "chromium",
    "redis-server": "redis-server",
    # Tests start their own servers; Debian's default server is not used.
    "postgresql": "/usr/lib/postgresql/*/bin/postgres",
    "cmake": "cmake",
    "libboost-dev": "/usr/include/boost",
    "valgrind": "valgrind",
    "containerd": "containerd",
    "runc": "runc",
    "nftables": "nft",
    "iptables": "iptables",
    "iproute2": "ip",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
}
COMPILER = ("build-essential",)
SERVERS = ("redis-server", "postgresql")
PROGRAMS = ("curl", "jq", *SERVERS)
BITCOIN_CORE = ("cmake", "libboost-dev")
NODE = ("containerd", "runc", "nftables", "iptables", "iproute2", "containernetworking-plugins")
VIRTUAL_ENVIRONMENTS = ("python3-venv",)
# What all tests need that `./tests/run` without words runs.
USUAL = (*COMPILER, *PROGRAMS, "faketime", "litecoind", *VIRTUAL_ENVIRONMENTS)


def install(step: Step, wanted: Iterable[str], needs_go: bool) -> None:
    """Installs those of the packages that the machine lacks."""
    if not shutil.which("cargo"):
        raise Failure("cargo is not installed: install Rust with rustup")
    if needs_go and not shutil.which("go"):
        raise Failure("go is not installed: install Go 1.26, which builds Kubernetes and Helm")
    lacking = [package for package in dict.fromkeys(wanted) if not _is_there(package)]
    if not lacking:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failure(f"install these packages first: {' '.join(lacking)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    step.run("apt-get", "update", "-qq")
    step.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *lacking, env=environment)


def _is_there(package: str) -> bool:
    if package in VIRTUAL_ENVIRONMENTS:
        # Debian splits these modules off; another Python has them.
        return subprocess.run(["python3", "-c", "import ensurepip, venv"], capture_output=True).returncode == 0
    what = PACKAGES[package]
    return any(Path("/").glob(what[1:])) if what.startswith("/") else shutil.which(what) is not None
