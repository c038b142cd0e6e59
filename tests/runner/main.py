"""Command line, steps with their order, and summary."""

import argparse
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Sequence

from . import again, libtest, needs, rust
from .flaky import Archive
from .libtest import Results, Test
from .needs import Needs
from .steps import Failure, Step, is_stopped, run_all, say, stop
from .tools import Tools

SLOWEST = 20
# Name of the step that runs failed tests again.
AGAIN = "failed tests, once more"
# Lanes of tests. They run at the same time, because most of these tests wait for servers or the cluster.
# The two longest start beside the unit tests; the others, which starve if too much runs, follow the unit
# tests. A test belongs to the first lane with a prefix of its title.
LANES = {
    "tests on a real node": ("tests/node ",),
    "tests of the operator": ("tests/cluster ",),
    "tests of the chart": ("tests/chart ",),
    "tests of several servers": ("tests/shared ",),
    "tests of programs": ("tests/", "store/", "graph/", "tests "),
    "unit tests": ("",),
}
LONGEST = ("tests of the operator", "tests of programs")
CORES = os.cpu_count() or 1
# Number of tests of a lane that run at the same time.
THREADS = {
    "tests on a real node": 1,
    # Nearly all of these tests need the cluster, one at a time.
    "tests of the operator": 1,
    "tests of the chart": 2,
    "tests of several servers": CORES,
    # They take longest: this is their share of the cores beside the others.
    "tests of programs": CORES + 2,
    "unit tests": CORES,
}
# Debian packages, each with a program or path that shows that it is installed.
PACKAGES = {
    "build-essential": "g++",
    "curl": "curl",
    "jq": "jq",
    "faketime": "faketime",
    "litecoind": "litecoind",
    "redis-server": "redis-server",
    # Tests start their own servers; Debian's default server is not used.
    "postgresql": "/usr/lib/postgresql/*/bin/postgres",
}
PACKAGES_OF_FULL = {
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
# Environment of a full run: more cases in randomized tests.
SETTINGS_OF_FULL = {
    "PROPTEST_CASES": "5000",
    "ASSAY_LIMITER_SEEDS": "200000",
    "ASSAY_FULL": "1",
}
FUZZ_SECONDS = 25
SCHEMATHESIS = ["./tests/schemathesis.sh"]
BENCHMARKS = {
    "import": "import of a real list",
    "screen": "labels and screening",
    "chain_ingest": "ingest of a million transactions",
    "clusters": "merge of two clusters of 500,000",
    "engine_instructions": "instructions of the engine",
    "served_check": "checks over HTTP",
    "evasion": "laundering schemes and innocents",
    "limits": "limits with and without leases",
    "reconcile": "10,000 tenants and keys",
}
# Benchmarks that import real lists and need the test data.
ON_TEST_DATA = ["import", "screen"]


class Run:
    """One run: its options, its steps, its results."""

    def __init__(self, arguments: argparse.Namespace):
        self.full: bool = arguments.full
        self.quick: bool = arguments.quick
        self.filters: list[str] = arguments.filter
        self.tools = Tools()
        self.results = Results()
        self.lanes: dict[str, list[Test]] = {lane: [] for lane in LANES}

    def steps(self) -> list[Step]:
        """The steps of this run, in the order of the report."""
        if self.quick:
            return [
                Step("format", rust.check_format, is_vital=True),
                Step("lints", rust.lint, ["format"], is_vital=True),
                Step("build", self.build, ["lints"], is_vital=True),
                self.lane("unit tests"),
                self.again(["unit tests"]),
            ]
        tools = self.tools
        steps = [
            Step("packages", partial(install_packages, full=self.full), is_vital=True),
            Step("kubernetes", tools.build_control_plane, ["packages"], is_vital=True),
        ]
        before_tests = ["kubernetes"]
        if self.full:
            for name, build in {
                "Kubernetes node": tools.build_node,
                "linters": tools.fetch_linters,
                "Helm 3": tools.build_helm_3,
                "Bitcoin Core": tools.build_bitcoin_core,
            }.items():
                # One after the other: each of them uses all cores.
                steps.append(Step(name, build, before_tests[-1:]))
                before_tests.append(name)
        steps.append(Step("lints", rust.lint, ["packages", "format"], is_vital=True))
        steps.append(Step("build", self.build, ["lints"], is_vital=True))
        steps.insert(1, Step("format", rust.check_format, is_vital=True))
        units = "unit tests"
        steps.append(self.lane(units))
        others = [name for name in LANES if name not in (units, "tests on a real node")]
        for name in others:
            follows = [] if name in LONGEST else [units]
            steps.append(self.lane(name, before_tests, follows))
        if self.filters:
            if self.full:
                steps.append(self.lane("tests on a real node", before_tests, follows=others))
            steps.append(self.again([step.name for step in steps]))
            return steps
        steps += [
            Step("cargo-deny", tools.install_cargo_deny, ["packages"]),
            Step("licences", partial(rust.check_licences, tools=tools), ["cargo-deny"]),
            Step("schemathesis tool", lambda step: step.run(*SCHEMATHESIS, "--install"), ["packages"]),
            Step("schemathesis", lambda step: step.run(*SCHEMATHESIS, 2000), ["schemathesis tool", "build"]),
        ]
        if self.full:
            steps += self.steps_of_full([step.name for step in steps])
        steps.append(self.again([step.name for step in steps if step.name != "build"]))
        return steps

    def steps_of_full(self, before: list[str]) -> list[Step]:
        """Steps that need the whole machine: each starts when all steps before it ended, passed or not."""
        steps = [
            self.lane("tests on a real node"),
            Step("chart by Helm 3", self.run_chart_by_helm_3),
            Step("fuzzing", lambda step: step.run("./tests/fuzz.sh", "--seconds", FUZZ_SECONDS)),
        ]
        for name, title in BENCHMARKS.items():
            steps.append(Step(title, partial(self.run_benchmark, name=name)))
        for step in steps:
            step.after, step.follows = ["build"], list(before)
            before.append(step.name)
        return steps

    def lane(self, name: str, after: Sequence[str] = (), follows: Sequence[str] = ()) -> Step:
        return Step(name, partial(self.run_lane, name=name), ["build", *after], follows)

    def again(self, follows: Sequence[str]) -> Step:
        run = partial(again.run, results=self.results, archive=Archive(self.tools.cache))
        return Step(AGAIN, run, ["build"], follows)

    def build(self, step: Step) -> None:
        binaries = rust.build(step, only_libraries=self.quick)
        tests = libtest.list_tests(step, binaries)
        available = Needs(self.tools, self.full)
        for test in libtest.select(tests, available, self.filters, self.results):
            lane = next(lane for lane, prefixes in LANES.items() if test.title.startswith(prefixes))
            self.lanes[lane].append(test)
        self.needs = available

    def run_lane(self, step: Step, name: str) -> None:
        failures = []
        binaries = {test.binary.title: test.binary for test in self.lanes[name]}
        for title, binary in binaries.items():
            tests = [test for test in self.lanes[name] if test.binary.title == title]
            try:
                libtest.run_binary(step, binary, tests, THREADS[name], self.results, self.environment())
            except Failure as failure:
                failures.append(str(failure))
                if is_stopped():
                    break
        if failures:
            raise Failure("; ".join(failures))

    def environment(self, *first: Path) -> dict[str, str]:
        """Environment variables for tests."""
        environment = {"ASSAY_TOOLS": self.tools.path(*first)}
        if data := needs.test_data():
            environment["ASSAY_TEST_DATA"] = str(data)
        if self.full:
            environment.update(SETTINGS_OF_FULL)
        return environment

    def run_chart_by_helm_3(self, step: Step) -> None:
        tests = self.lanes["tests of the chart"]
        environment = self.environment(self.tools.helm_3)
        libtest.run_binary(step, tests[0].binary, tests, 4, self.results, environment)

    def run_benchmark(self, step: Step, name: str) -> None:
        if name in ON_TEST_DATA and not needs.test_data():
            step.notes.append(f"{step.name} was NOT measured: there is no test data")
            return
        rust.benchmark(step, name, {**os.environ, **self.environment()})

    def summary(self, steps: list[Step], passed: bool, seconds: float) -> str:
        """The report: slowest tests, steps, failures, and a last line with the counts."""
        passes, failed, flaky = (self.results.of(outcome) for outcome in ("passed", "failed", "flaky"))
        ran = [*passes, *failed, *flaky]
        lines = []
        if slowest := sorted(ran, key=lambda result: -result.seconds)[:SLOWEST]:
            lines.append("-- slowest tests")
            lines += [f"{result.seconds:8.1f} s  {result.test.title}" for result in slowest]
        lines.append("-- steps")
        for step in sorted(steps, key=lambda step: -step.seconds):
            state = "" if step.state == "passed" else f"  {step.state.upper()}"
            lines.append(f"{step.seconds:8.1f} s  {step.cpu_seconds:7.1f} s of CPU time  {step.name}{state}")
        lines += [f"note: {note}" for step in steps for note in step.notes]
        lines += [f"flaky: {result.test.title}" for result in flaky]
        lines += [f"FAILED: {result.test.title}" for result in failed]
        ignored = self.results.of("ignored")
        reasons = Counter(", ".join(self.needs.explain(name) for name in result.reasons) for result in ignored)
        grouped = "; ".join(f"{count} for want of {reason}" for reason, count in reasons.most_common())
        counts = f"{len(passes)} passed, {len(failed)} failed, {len(flaky)} flaky, {len(ignored)} ignored"
        not_passed = [step.name for step in steps if step.state != "passed"]
        how = "passed" if passed else "FAILED at " + ", ".join(not_passed)
        minutes, rest = divmod(round(seconds), 60)
        lines.append(f"tests/run: {how} in {minutes} min {rest} s: tests: {counts}{f' ({grouped})' if grouped else ''}")
        return "\n".join(lines)


def install_packages(step: Step, full: bool) -> None:
    """Installs the Debian packages that the build and the tests need and the machine lacks."""
    if not shutil.which("cargo"):
        raise Failure("cargo is not installed: install Rust with rustup")
    if not shutil.which("go"):
        raise Failure("go is not installed: install Go 1.26, which builds Kubernetes and Helm")
    wanted = {**PACKAGES, **(PACKAGES_OF_FULL if full else {})}
    lacking = [package for package, what in wanted.items() if not _is_there(what)]
    # Debian splits the modules for virtual environments into a package of their own.
    if subprocess.run(["python3", "-c", "import ensurepip, venv"], capture_output=True).returncode != 0:
        lacking.append("python3-venv")
    if not lacking:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failure(f"install these packages first: {' '.join(lacking)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    step.run("apt-get", "update", "-qq")
    step.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *lacking, env=environment)


def _is_there(what: str) -> bool:
    return any(Path("/").glob(what[1:])) if what.startswith("/") else shutil.which(what) is not None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./tests/run", description="Runs every check and every test.")
    much = parser.add_mutually_exclusive_group()
    full = "add tests that need more time or a Kubernetes node, fuzzing and benchmarks: about an hour"
    much.add_argument("--full", action="store_true", help=full)
    much.add_argument("--quick", action="store_true", help="run only format, lints and unit tests")
    much.add_argument("--flaky", action="store_true", help="print the flaky tests of past runs with their logs")
    parser.add_argument("filter", nargs="*", help="run only tests whose names contain one of these")
    options = parser.parse_args(arguments)
    run = Run(options)
    if options.flaky:
        print(Archive(run.tools.cache).report())
        return 0
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop())
    begun = time.monotonic()
    steps = run.steps()
    passed = run_all(steps)
    say(run.summary(steps, passed, time.monotonic() - begun))
    return 0 if passed else 1
