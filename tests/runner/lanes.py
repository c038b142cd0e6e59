"""Lanes of tests, which run at the same time, because most of these tests wait for servers or the cluster."""

import os

# The two longest start beside the unit tests; the others, which starve if too much runs, follow the unit
# tests. Each waits for the tools of its own tests alone, so that others run while the tools are built. A test
# belongs to the first lane with a prefix of its title.
LANES = {
    "tests on a real node": ("tests/node ",),
    "tests of the operator": ("tests/cluster ",),
    "tests of the chart": ("tests/chart ",),
    "tests of several servers": ("tests/shared ",),
    "tests of stores": ("store/", "graph/"),
    "tests of programs": ("tests/", "tests "),
    "unit tests": ("",),
}
REAL_NODE = "tests on a real node"
CHART = "tests of the chart"
UNITS = "unit tests"
LONGEST = ("tests of the operator", "tests of programs")
CORES = os.cpu_count() or 1
# Number of tests of a lane that run at the same time.
THREADS = {
    "tests on a real node": 1,
    # Nearly all of these tests need the cluster, one at a time.
    "tests of the operator": 1,
    "tests of the chart": 2,
    "tests of several servers": CORES,
    "tests of stores": 1,
    # They take longest: this is their share of the cores beside the others.
    "tests of programs": CORES + 1,
    "unit tests": CORES,
}


def lane_of(title: str) -> str:
    """The lane of a test."""
    return next(lane for lane, prefixes in LANES.items() if title.startswith(prefixes))
