"""Packages and targets of the cargo workspace, as cargo describes them without compiling."""

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Target:
    """A target of a package that contains tests."""

    package: str
    name: str
    # "lib", "bin", or "test".
    kind: str
    # Its first source file.
    source: Path

    @property
    def title(self) -> str:
        return title(self.package, self.name)


def title(package: str, target: str) -> str:
    """The prefix of a target's tests in reports: the package, and the target if it is not the library."""
    short = package.removeprefix("assay-")
    return short if target == package.replace("-", "_") else f"{short}/{target}"


@cache
def metadata() -> dict:
    """What `cargo metadata` prints about the workspace; empty without cargo."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    try:
        return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError):  # the first step says what to install
        return {}


def target_folder() -> Path:
    """The folder of everything that is built: a setting of cargo's can move it, so cargo is asked."""
    return Path(metadata().get("target_directory") or ROOT / "target")


def test_targets() -> list[Target]:
    """Every target whose tests a build of the whole workspace builds."""
    return [
        Target(package["name"], target["name"], target["kind"][0], Path(target["src_path"]))
        for package in metadata().get("packages", [])
        for target in package["targets"]
        # Targets with required features are fuzz targets.
        if target["test"] and "required-features" not in target and target["kind"][0] in ("lib", "bin", "test")
    ]
