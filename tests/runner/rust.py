"""Format, lints, builds, licences and benchmarks."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from .steps import Failure, Step
from .tools import Tools
from .workspace import Target, title

WARNINGS_FAIL = ["--", "-D", "warnings"]
# One selection for every build, so that cargo compiles nothing twice.
EVERYTHING = ["--workspace", "--bins", "--tests"]
FORMAT = ["--quiet", "--message-format", "json-render-diagnostics"]

# For one package alone, cargo would enable fewer features of dependencies than for the workspace, and compile
# them again for that. Only nightly cargo can be told not to; the toolchain is pinned, so that the option does not
# change unnoticed. RUSTC_BOOTSTRAP would permit it, too, but build scripts read that and would run again.
UNSTABLE = ["-Z", "feature-unification"]
UNIFIED = {
    "__CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS": "nightly",
    "CARGO_RESOLVER_FEATURE_UNIFICATION": "workspace",
}


@dataclass
class Binary:
    """A test binary."""

    package: str
    name: str
    path: Path
    folder: Path

    @property
    def title(self) -> str:
        return title(self.package, self.name)


def check_format(step: Step) -> None:
    step.run("cargo", "fmt", "--all", "--check")


def lint(step: Step) -> None:
    step.run("cargo", "clippy", "--workspace", "--all-targets", "--quiet", *WARNINGS_FAIL)


def build(step: Step, only_libraries: bool) -> list[Binary]:
    """Builds programs and tests, or only the unit tests, and returns the test binaries."""
    command = ["test", "--no-run", "--workspace", "--lib"] if only_libraries else ["build", *EVERYTHING]
    output = step.output("cargo", *command, *FORMAT)
    return _test_binaries(output)


def build_targets(step: Step, targets: Sequence[Target], programs: Sequence[str]) -> list[Binary]:
    """Builds some test targets, and the programs of some packages, and returns the test binaries.

    Nothing is compiled again that a build of the whole workspace compiled: see UNIFIED.
    """
    binaries = []
    for command in commands(targets, programs):
        output = step.output("cargo", *command, *FORMAT, *UNSTABLE, env={**os.environ, **UNIFIED})
        binaries += _test_binaries(output)
    return binaries


def commands(targets: Sequence[Target], programs: Sequence[str]) -> list[list[str]]:
    """Cargo's arguments to build test targets. Programs are built beside tests that may start them: alone they would
    be built without the features of dependencies that tests enable."""
    found = []
    for package in dict.fromkeys(target.package for target in targets):
        own = [target for target in targets if target.package == package]
        tests: list[str] = []
        others: list[str] = []
        for target in own:
            match target.kind:
                case "test":
                    tests += ["--test", target.name]
                case "lib":
                    others += ["--lib"]
                case "bin":
                    others += ["--bin", target.name]
        if tests:
            found.append(["build", *_packages([package, *programs]), "--bins", *tests])
        if others:
            found.append(["test", "--no-run", *_packages([package]), *others])
    return found


def _packages(names: Sequence[str]) -> list[str]:
    return [argument for name in names for argument in ("--package", name)]


def _test_binaries(output: str) -> list[Binary]:
    binaries = []
    for line in output.splitlines():
        artifact = json.loads(line)
        if artifact["reason"] == "compiler-artifact" and artifact["profile"]["test"]:
            folder = Path(artifact["manifest_path"]).parent
            package = artifact["package_id"].split("#")[0].rsplit("/", 1)[-1]
            name = artifact["target"]["name"]
            binaries.append(Binary(_package(artifact, package), name, Path(artifact["executable"]), folder))
    return binaries


def _package(artifact: dict, folder: str) -> str:
    """The package name, which the package id omits if the folder has the same name."""
    _, _, rest = artifact["package_id"].partition("#")
    return rest.split("@")[0] if "@" in rest else folder


def check_licences(step: Step, tools: Tools) -> None:
    """Checks licences, bans and sources, and advisories if their database is reachable."""
    deny = tools.cargo_deny / "bin/cargo-deny"
    step.run(deny, "check", "licenses", "bans", "sources")
    try:
        step.run("timeout", "60", deny, "check", "advisories")
    except Failure:
        if "failed to fetch advisory database" not in step.log.read_text().lower():
            raise
        step.notes.append("advisories were NOT checked: their database is not reachable")


def benchmark(step: Step, name: str, environment: dict[str, str]) -> None:
    step.run("cargo", "bench", "--quiet", "-p", "assay-tests", "--bench", name, env=environment)
