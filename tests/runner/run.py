"""The steps of each kind of run, in the order of the report."""

import os
import time
from functools import partial
from pathlib import Path
from typing import Callable, Sequence

from . import again, libtest, needs, packages, parts, report, rust, sources
from .flaky import Archive
from .lanes import CHART, LANES, LONGEST, REAL_NODE, THREADS, UNITS, lane_of
from .libtest import Results, Test
from .needs import Needs
from .parts import Part
from .selection import Selection, tools_of
from .steps import Failure, Step, is_stopped, run_all
from .tools import Tools

# Environment of a full run: more cases in randomized tests, larger chains in benchmarks.
SETTINGS_OF_FULL = {
    "PROPTEST_CASES": "5000",
    "ASSAY_LIMITER_SEEDS": "200000",
    "ASSAY_FULL": "1",
    "ASSAY_TRANSACTIONS": "1000000",
}
FUZZ_SECONDS = 25
SCHEMATHESIS = ["./tests/schemathesis.sh"]
# Least number of generated cases of a plain run and of a full one.
SCHEMATHESIS_CASES = 500
SCHEMATHESIS_CASES_OF_FULL = 2000
RUNNER_TESTS = ["python3", "-B", "-m", "unittest", "discover", "--quiet", "-s", "tests/runner/tests", "-t", "tests"]
WORDS = ["env", "PYTHONPATH=tests", "python3", "-B", "-m", "runner.words"]
# Name of the step that runs failed tests again.
AGAIN = "failed tests, once more"
# Packages of parts that are no tests.
PACKAGES_OF_PARTS = {
    "checks": (*packages.COMPILER, *packages.VIRTUAL_ENVIRONMENTS),
    "kubernetes": packages.VIRTUAL_ENVIRONMENTS,
    "fuzzing": packages.COMPILER,
    "schemathesis": (*packages.COMPILER, *packages.VIRTUAL_ENVIRONMENTS),
}
PACKAGES_OF_BENCHMARKS = (*packages.COMPILER, *packages.SERVERS)


class Run:
    """One run: its steps, its tests by lane, its results."""

    def __init__(self, tools: Tools, is_full: bool = False):
        self.tools = tools
        self.is_full = is_full
        self.results = Results()
        self.needs = Needs(tools, is_full)
        self.lanes: dict[str, list[Test]] = {lane: [] for lane in LANES}
        self.steps: list[Step] = []
        self.passed = False
        self.seconds = 0.0

    def execute(self, steps: list[Step]) -> bool:
        """Runs the steps. Returns true if all passed."""
        begun = time.monotonic()
        self.steps = steps
        self.passed = run_all(steps)
        self.seconds = time.monotonic() - begun
        return self.passed

    def report(self) -> str:
        return report.report(self.results, self.steps, self.passed, self.seconds, self.needs.explain)

    # Kinds of runs.

    def quick(self) -> list[Step]:
        """Format, names and sentences, lints and unit tests."""
        return [
            *self._checks(()),
            Step("build", self._build(partial(rust.build, only_libraries=True)), ["lints"], is_vital=True),
            self._lane(UNITS),
            self._again([UNITS]),
        ]

    def everything(self) -> list[Step]:
        """Every check, and every test that does not need `--full`."""
        install = partial(packages.install, wanted=packages.USUAL, needs_go=True)
        build = self._build(partial(rust.build, only_libraries=False))
        lanes = [lane for lane in LANES if lane != REAL_NODE]
        return [
            Step("packages", install, is_vital=True),
            *self._checks(["packages"]),
            *self._one_after_the_other(["kubernetes", *self._optional_tools()]),
            Step("build", build, ["lints"], is_vital=True),
            Step("names of tests", self._compare_with_sources, ["build"]),
            *self._lanes(lanes, ["kubernetes", *self._optional_tools()]),
            self._again(lanes),
            *self._licences(["packages"]),
            *self._schemathesis(["packages"], "build"),
        ]

    def selected(self, selection: Selection) -> list[Step]:
        """Some tests and nothing that they do not need."""
        tools = self._tools(selection)
        install = partial(packages.install, wanted=selection.packages, needs_go=bool(tools))
        build = partial(rust.build_targets, targets=selection.targets, programs=selection.programs)
        lanes = list(dict.fromkeys(lane_of(test.title) for test in selection.tests))
        return [
            Step("packages", install, is_vital=True),
            *tools,
            Step("build", self._build(build, selection.takes), ["packages"], is_vital=True),
            *self._lanes(lanes, [tool.name for tool in tools]),
            self._again(lanes),
        ]

    def part(self, part: Part, selection: Selection) -> list[Step]:
        """The steps of a part of a full run."""
        if part.has_tests:
            steps = self.selected(selection)
            return self._with_helm_3(steps) if part.name == "chart" else steps
        wanted = PACKAGES_OF_PARTS.get(part.name, PACKAGES_OF_BENCHMARKS)
        if part.benchmark == "engine_instructions":
            wanted = (*wanted, "valgrind")
        with_cluster = part.benchmark == "reconcile"
        needs_go = part.name == "kubernetes" or with_cluster
        steps = [Step("packages", partial(packages.install, wanted=wanted, needs_go=needs_go), is_vital=True)]
        after = ["packages"]
        if part.name == "checks":
            return [*steps, *self._checks(after), *self._licences(after)]
        if part.name == "kubernetes":
            return [*steps, *self._one_after_the_other(["kubernetes", "Kubernetes node", "linters", "Helm 3"])]
        if part.name == "fuzzing":
            fuzz = ("./tests/fuzz.sh", "--seconds", FUZZ_SECONDS)
            return [*steps, Step("fuzzing", lambda step: step.run(*fuzz), after)]
        if part.name == "schemathesis":
            program = Step("program", lambda step: step.run("cargo", "build", "--quiet"), after, is_vital=True)
            return [*steps, program, *self._schemathesis(after, "program")]
        if with_cluster:
            steps += self._one_after_the_other(["kubernetes"])
            after = ["kubernetes"]
        return [*steps, Step(part.title, partial(self._run_benchmark, name=part.benchmark), after)]

    # Groups of steps.

    def _with_helm_3(self, steps: list[Step]) -> list[Step]:
        """Adds the tests of the chart by Helm 3, after those by Helm 4."""
        *before, once_more = steps
        others = [step.name for step in before if step.name in self._builders()]
        helm_3 = Step("Helm 3", self.tools.build_helm_3, ["packages"], others)
        chart = Step("chart by Helm 3", self._run_chart_by_helm_3, ["build", helm_3.name], [CHART])
        once_more.follows = [*once_more.follows, chart.name]
        return [*before, helm_3, chart, once_more]

    def _checks(self, after: Sequence[str]) -> list[Step]:
        return [
            Step("format", rust.check_format, is_vital=True),
            Step("runner", lambda step: step.run(*RUNNER_TESTS), is_vital=True),
            Step("words", lambda step: step.run(*WORDS), is_vital=True),
            Step("lints", rust.lint, [*after, "format"], is_vital=True),
        ]

    def _licences(self, after: Sequence[str]) -> list[Step]:
        return [
            Step("cargo-deny", self.tools.install_cargo_deny, after),
            Step("licences", partial(rust.check_licences, tools=self.tools), ["cargo-deny"]),
        ]

    def _schemathesis(self, after: Sequence[str], build: str) -> list[Step]:
        tool, check = "schemathesis tool", "schemathesis"
        cases = SCHEMATHESIS_CASES_OF_FULL if self.is_full else SCHEMATHESIS_CASES
        return [
            Step(tool, lambda step: step.run(*SCHEMATHESIS, "--install"), after),
            Step(check, lambda step: step.run(*SCHEMATHESIS, cases), [tool, build]),
        ]

    def _tools(self, selection: Selection) -> list[Step]:
        wanted = [name for name in self._builders() if name in selection.tools]
        return self._one_after_the_other(wanted)

    def _one_after_the_other(self, names: Sequence[str]) -> list[Step]:
        """Builds of tools: each of them uses all cores."""
        builders = self._builders()
        before = ["packages", *names]
        return [
            Step(name, builders[name], [previous], is_vital=True) for name, previous in zip(names, before)
        ]

    def _optional_tools(self) -> list[str]:
        """The node of Ethereum's kind, and the issuer of identities, that the machine can get."""
        return [name for name in ("anvil", "OpenID Connect issuer") if self.needs.lacking[name] is None]

    def _builders(self) -> dict[str, Callable[[Step], None]]:
        return {
            "kubernetes": self.tools.build_control_plane,
            "Kubernetes node": self.tools.build_node,
            "linters": self.tools.fetch_linters,
            "Helm 3": self.tools.build_helm_3,
            "Bitcoin Core": self.tools.build_bitcoin_core,
            "geth": self.tools.build_geth,
            "anvil": self.tools.install_anvil,
            "API clients": self.tools.install_clients,
            "OpenID Connect issuer": self.tools.install_issuer,
            "browser": self.tools.install_browser_driver,
        }

    def _lanes(self, names: Sequence[str], tools: Sequence[str]) -> list[Step]:
        """Lanes, each after those of the tools that its tests need; the shorter lanes follow the unit tests."""
        steps = []
        for name in sorted(names, key=lambda name: name != UNITS):
            follows = [UNITS] if UNITS in names and name not in (UNITS, *LONGEST) else []
            needed = tools_of(name)
            steps.append(self._lane(name, [tool for tool in tools if tool in needed], follows))
        return steps

    def _lane(self, name: str, after: Sequence[str] = (), follows: Sequence[str] = ()) -> Step:
        return Step(name, partial(self._run_lane, name=name), ["build", *after], follows)

    def _again(self, lanes: Sequence[str]) -> Step:
        run = partial(again.run, results=self.results, archive=Archive(self.tools.cache))
        return Step(AGAIN, run, ["build"], lanes)

    # Work of steps.

    def _build(
        self, build: Callable[[Step], list[rust.Binary]], takes: Callable[[str, str], bool] | None = None
    ) -> Callable[[Step], None]:
        def work(step: Step) -> None:
            self.listed = libtest.list_tests(step, build(step))
            # Packages that a requirement asks for may have been installed meanwhile.
            self.needs = Needs(self.tools, self.is_full)
            for test in libtest.select(self.listed, self.needs, takes, self.results):
                self.lanes[lane_of(test.title)].append(test)
            if not any(self.lanes.values()) and not self.results.all():
                raise Failure("the sources have such tests, but none of them was built")

        return work

    def _compare_with_sources(self, step: Step) -> None:
        if missing := sources.differences({test.title for test in self.listed}):
            raise Failure(f"tests/runner/sources.py does not find {len(missing)} tests: {', '.join(missing[:5])}")

    def _run_lane(self, step: Step, name: str) -> None:
        binaries = {test.binary.title: test.binary for test in self.lanes[name]}
        failures = []
        for title, binary in binaries.items():
            tests = [test for test in self.lanes[name] if test.binary.title == title]
            try:
                with step.part(title):
                    libtest.run_binary(step, binary, tests, THREADS[name], self.results, self._environment())
            except Failure as failure:
                failures.append(str(failure))
                if is_stopped():
                    break
        if failures:
            raise Failure("; ".join(failures))

    def _environment(self, *first: Path) -> dict[str, str]:
        """Environment variables for tests."""
        environment = {"ASSAY_TOOLS": self.tools.path(*first)}
        if data := needs.test_data():
            environment["ASSAY_TEST_DATA"] = str(data)
        if self.is_full:
            environment |= {name: os.environ.get(name, value) for name, value in SETTINGS_OF_FULL.items()}
        return environment

    def _run_chart_by_helm_3(self, step: Step) -> None:
        if tests := self.lanes[CHART]:
            environment = self._environment(self.tools.helm_3)
            libtest.run_binary(step, tests[0].binary, tests, 4, self.results, environment)

    def _run_benchmark(self, step: Step, name: str) -> None:
        if name in parts.ON_TEST_DATA and not needs.test_data():
            step.notes.append(f"{step.name} was NOT measured: there is no test data")
            return
        rust.benchmark(step, name, {**os.environ, **self._environment()})
