"""A part of the tests, chosen by words of their titles or by a part's name, and all that it needs.

The tests are found in the sources, so that only their targets are compiled and only their tools are built.
"""

import difflib
from dataclasses import dataclass
from typing import Callable, Sequence

from . import packages
from .lanes import lane_of
from .needs import requirements
from .sources import SourceTest, all_contents
from .workspace import Target

# Tools of the cache, by the requirement of a test.
TOOLS = {
    "Helm": ("kubernetes",),
    "Kubernetes": ("kubernetes",),
    "btcd": ("kubernetes",),
    "Bitcoin Core": ("Bitcoin Core",),
    "geth": ("geth",),
    "anvil": ("anvil",),
    "API clients": ("API clients",),
    "OpenID Connect issuer": ("OpenID Connect issuer",),
    "browser": ("browser",),
    "manifest linters": ("Kubernetes node", "linters"),
    "Kubernetes node": ("kubernetes", "Kubernetes node"),
}
# Debian packages, by the requirement of a test.
PACKAGES = {
    "faketime": ("faketime",),
    "Litecoin Core": ("litecoind",),
    "API clients": packages.VIRTUAL_ENVIRONMENTS,
    "browser": ("chromium",),
    "Bitcoin Core": packages.BITCOIN_CORE,
    "manifest linters": packages.VIRTUAL_ENVIRONMENTS,
    "Kubernetes node": packages.NODE,
}
# Requirements that only parts of `--full` meet.
OF_FULL = ("more time", "API clients", "geth", "Bitcoin Core", "browser", "manifest linters", "Kubernetes node")
# The package with the tests of programs, and the packages of these programs.
TESTS = "assay-tests"
PROGRAM, OPERATOR = "assay-cli", "assay-operator"
WITH_OPERATOR = ("chart", "cluster", "node")
NEAR = 8


@dataclass(frozen=True)
class Selection:
    """Tests to run, with all that they need."""

    tests: tuple[SourceTest, ...]
    # Decides about a built test, from its title and the message of its `ignore` attribute.
    takes: Callable[[str, str], bool]
    # True if the tests of `--full` run, too.
    is_full: bool

    @property
    def targets(self) -> list[Target]:
        return list(dict.fromkeys(test.target for test in self._run()))

    @property
    def tools(self) -> set[str]:
        return {tool for need in self._needs() for tool in TOOLS.get(need, ())}

    @property
    def packages(self) -> list[str]:
        found = [*packages.COMPILER]
        for need in self._needs():
            found += PACKAGES.get(need, ())
        for target in self.targets:
            found += packages_of(target, all_contents()[target].text)
        return list(dict.fromkeys(found))

    @property
    def programs(self) -> list[str]:
        """The packages whose programs the tests start."""
        names = [target.name for target in self.targets if target.package == TESTS and target.kind == "test"]
        return [PROGRAM] * bool(names) + [OPERATOR] * any(name in WITH_OPERATOR for name in names)

    def _run(self) -> list[SourceTest]:
        """The tests that are run, if the machine can; all, if none is, so that the report says why."""
        run = [test for test in self.tests if self.is_full or not set(requirements(test.message)) & set(OF_FULL)]
        return run or list(self.tests)

    def _needs(self) -> set[str]:
        needs = {need for test in self._run() for need in requirements(test.message)}
        return needs if self.is_full else needs - set(OF_FULL)


def packages_of(target: Target, text: str) -> tuple[str, ...]:
    """The Debian packages with the servers and programs that the tests of a target start, from its text."""
    if target.package == TESTS:
        return packages.PROGRAMS
    if "assay_test_servers" not in text:
        return ()
    words = {"postgresql": "Postgres", "redis-server": "redis::"}
    return tuple(package for package, word in words.items() if word in text)


def by_words(words: Sequence[str], is_full: bool) -> Selection:
    """The tests whose titles contain one of the words."""

    def takes(title: str, message: str) -> bool:
        return any(word in title for word in words)

    return by(takes, is_full)


def by(takes: Callable[[str, str], bool], is_full: bool) -> Selection:
    """The tests that a function takes."""
    tests = [test for found in all_contents().values() for test in found.tests]
    return Selection(tuple(test for test in tests if takes(test.title, test.message)), takes, is_full)


def tools_of(lane: str) -> set[str]:
    """The tools of the cache that tests of a lane need."""
    tests = [test for found in all_contents().values() for test in found.tests if lane_of(test.title) == lane]
    needs = {need for test in tests for need in requirements(test.message)}
    return {tool for need in needs for tool in TOOLS.get(need, ())}


def unmatched(words: Sequence[str], titles: Sequence[str]) -> list[str]:
    """The words that no title contains."""
    return [word for word in words if not any(word in title for title in titles)]


def near(word: str, titles: Sequence[str]) -> list[str]:
    """Titles that resemble a word: by the name of the test or a module, or by most of the words in it."""
    pieces: dict[str, list[str]] = {}
    for title in titles:
        binary, _, name = title.partition(" ")
        for piece in (binary, name, *name.split("::")):
            pieces.setdefault(piece, []).append(title)
    last = word.rpartition("::")[2].strip() or word
    found = [title for piece in difflib.get_close_matches(last, pieces, NEAR, 0.6) for title in pieces[piece]]
    parts = [part for part in last.lower().split("_") if part]
    shared = [(sum(part in title.lower() for part in parts), title) for title in titles]
    enough = max(1, (len(parts) + 1) // 2 + (len(parts) > 2))
    found += [title for count, title in sorted(shared, key=lambda pair: -pair[0]) if count >= enough]
    return list(dict.fromkeys(found))[:NEAR]
