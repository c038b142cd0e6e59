"""The parts of `./tests/run --full`, and which of them passed for a state of the tree.

Each part is to take at most LIMIT minutes on two cores with a warm target folder and cache, so that it fits into
any job; the table marks one that took longer. The state is kept in the cache, one file for each commit; a tree
with changes is a state of its own.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Sequence

from .lanes import CHART, REAL_NODE, UNITS, lane_of
from .needs import requirements

# Minutes that a part may take.
LIMIT = 15
BENCHMARKS = {
    "import": "import of a real list",
    "screen": "labels and screening",
    "chain_ingest": "ingest of a million transactions",
    "transfer_ingest": "files of a million transfers",
    "chain_trace": "checks on a chain of a million transactions",
    "chain_servers": "checks through a chain server",
    "check_labels": "a check with few and many labels",
    "check_search": "search of ten million checks",
    "compositions": "compositions of a million transactions",
    "clusters": "merge of two clusters of 500,000",
    "account_ledgers": "ledgers of a million transfers on an account chain",
    "account_contracts": "money through contracts",
    "account_store": "account chains in a store",
    "evm_ingest": "blocks of an EVM node, read to committed",
    "console_pages": "pages of the console",
    "engine_instructions": "instructions of the engine",
    "warm_check": "checks over HTTP near the limit of one core",
    "evasion": "laundering schemes and innocents",
    "limits": "limits with and without leases",
    "reconcile": "10,000 tenants and keys",
}
# Benchmarks that import real lists and need the test data.
ON_TEST_DATA = ["check_labels", "import", "screen"]
_PREFIX = "bench-"


@dataclass(frozen=True)
class Part:
    """A part of a full run."""

    name: str
    title: str
    # True if it runs tests; see `part_of`.
    has_tests: bool = False

    @property
    def benchmark(self) -> str:
        """Name of the benchmark that it is; empty if it is none."""
        return self.name.removeprefix(_PREFIX).replace("-", "_") if self.name.startswith(_PREFIX) else ""


PARTS = (
    Part("checks", "format, names and sentences, lints, licences, the runner's own tests"),
    Part("units", "unit tests, with more cases", True),
    Part("limiter", "unit tests of the limiter, with 200,000 seeds", True),
    Part("stores", "tests of stores and graphs on every backend", True),
    Part("programs", "tests of programs", True),
    Part("chains", "tests of programs that follow and trace chains", True),
    Part("economies", "scores of schemes and innocents in whole economies", True),
    Part("servers", "tests of several servers, with all faults", True),
    Part("bitcoin-core", "builds Bitcoin Core; tests on it", True),
    Part("kubernetes", "builds Kubernetes, Helm and linters for the next parts"),
    Part("cluster", "tests of the operator, with more repetitions", True),
    Part("chart", "tests of the chart, with linters, by Helm 4 and Helm 3", True),
    Part("node", "tests on a real Kubernetes node", True),
    Part("fuzzing", "every fuzz target"),
    Part("schemathesis", "generated cases against the API's own description"),
    *(Part(_PREFIX + name.replace("_", "-"), f"benchmark: {title}") for name, title in BENCHMARKS.items()),
)
# Modules of the tests of programs that are about chains.
_CHAINS = ("chain_", "clusters", "evm_", "flows", "sample_chain", "transfers", "associates")


def part_of(title: str, message: str) -> str:
    """The name of the one part that runs a test."""
    lane = lane_of(title)
    binary, _, name = title.partition(" ")
    if lane == REAL_NODE:
        return "node"
    if "Bitcoin Core" in requirements(message):
        return "bitcoin-core"
    if lane == UNITS:
        return "limiter" if binary == "limiter" else "units"
    if lane == CHART:
        return "chart"
    if binary in ("tests/cluster", "tests/shared"):
        return {"tests/cluster": "cluster", "tests/shared": "servers"}[binary]
    if binary.startswith(("store/", "graph/")):
        return "stores"
    if binary == "tests" or name.startswith("evasion"):
        return "economies"
    return "chains" if name.startswith(_CHAINS) else "programs"


def find(names: Sequence[str]) -> list[Part]:
    """The parts of these names, in the order of the list. Raises ValueError with all names if one is unknown."""
    known = [part.name for part in PARTS]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f'no such part: "{unknown[0]}" (parts: {", ".join(known)})')
    return [part for part in PARTS if part.name in names]


class Progress:
    """Which parts passed or failed for one state of the tree."""

    def __init__(self, cache: Path, state: str):
        self.state = state
        self._file = cache / "full" / f"{state}.json"
        self._parts: dict[str, dict] = json.loads(self._file.read_text()) if self._file.is_file() else {}

    def record(self, part: Part, outcome: str, seconds: float, counts: str) -> None:
        """Records how a part ended: "passed" or "failed"."""
        date = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        self._parts[part.name] = {"outcome": outcome, "seconds": round(seconds), "date": date, "counts": counts}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self._parts, indent=1))

    def left(self) -> list[Part]:
        """The parts that have not passed yet."""
        return [part for part in PARTS if self._parts.get(part.name, {}).get("outcome") != "passed"]

    def table(self) -> str:
        """All parts with their outcomes as text."""
        width = max(len(part.name) for part in PARTS)
        lines = []
        for part in PARTS:
            known = self._parts.get(part.name)
            lines.append(f"{part.name:{width}}  {describe(known):58}  {part.title}")
        return "\n".join(lines)


def describe(known: dict | None) -> str:
    """The outcome of a part in words."""
    if not known:
        return "has not run"
    minutes = known["seconds"] / 60
    late = f", over {LIMIT} min" if minutes > LIMIT else ""
    return f"{known['outcome']} in {minutes:.1f} min{late}, {known['counts']}"
