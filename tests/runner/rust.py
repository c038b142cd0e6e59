"""Format, lints, builds, licences and benchmarks."""

import json
from dataclasses import dataclass
from pathlib import Path

from .steps import Failure, Step
from .tools import Tools

WARNINGS_FAIL = ["--", "-D", "warnings"]
# One selection for every build, so that cargo compiles nothing twice.
EVERYTHING = ["--workspace", "--bins", "--tests"]


@dataclass
class Binary:
    """A test binary."""

    package: str
    name: str
    path: Path
    folder: Path

    @property
    def title(self) -> str:
        """The prefix of its tests in reports: the package, and the binary if it is not the unit tests."""
        short = self.package.removeprefix("assay-")
        return short if self.name == self.package.replace("-", "_") else f"{short}/{self.name}"


def check_format(step: Step) -> None:
    step.run("cargo", "fmt", "--all", "--check")


def lint(step: Step) -> None:
    step.run("cargo", "clippy", "--workspace", "--all-targets", "--quiet", *WARNINGS_FAIL)


def build(step: Step, only_libraries: bool) -> list[Binary]:
    """Builds programs and tests, or only the unit tests, and returns the test binaries."""
    command = ["test", "--no-run", "--workspace", "--lib"] if only_libraries else ["build", *EVERYTHING]
    output = step.output("cargo", *command, "--quiet", "--message-format", "json-render-diagnostics")
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
