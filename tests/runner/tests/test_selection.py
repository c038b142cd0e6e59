"""A selection needs the packages and tools of its own tests and no others."""

import unittest
from pathlib import Path
from unittest import mock

from runner import packages, selection
from runner.sources import Contents, SourceTest
from runner.workspace import Target

ENGINE = Target("assay-engine", "assay_engine", "lib", Path("engine/lib.rs"))
STORE = Target("assay-store", "all", "test", Path("store/main.rs"))
PROGRAMS = Target("assay-tests", "all", "test", Path("all/main.rs"))
CLUSTER = Target("assay-tests", "cluster", "test", Path("cluster/main.rs"))
TESTS = [
    SourceTest(ENGINE, "trace::tests::money_is_followed"),
    SourceTest(STORE, "postgres::it_reads"),
    SourceTest(PROGRAMS, "chain::on_a_node", "needs btcd"),
    SourceTest(PROGRAMS, "chain::on_bitcoin_core", "needs Bitcoin Core"),
    SourceTest(CLUSTER, "operator::it_starts", "needs Kubernetes"),
]
TEXTS = {STORE: "use assay_test_servers::PostgresServer;"}


def chosen(word: str, is_full: bool = False) -> selection.Selection:
    contents: dict[Target, Contents] = {}
    for test in TESTS:
        contents.setdefault(test.target, Contents(text=TEXTS.get(test.target, ""))).tests.append(test)
    patch = mock.patch.object(selection, "all_contents", lambda: contents)
    patch.start()
    unittest.addModuleCleanup(patch.stop)
    return selection.by_words([word], is_full)


class SelectionTest(unittest.TestCase):
    def test_a_unit_test_needs_a_compiler_alone(self) -> None:
        selected = chosen("money_is")
        self.assertEqual(selected.targets, [ENGINE])
        self.assertEqual(selected.packages, list(packages.COMPILER))
        self.assertEqual((selected.tools, selected.programs), (set(), []))

    def test_a_test_of_a_store_needs_its_server_and_no_program(self) -> None:
        selected = chosen("store/all")
        self.assertEqual(selected.packages, ["build-essential", "postgresql"])
        self.assertEqual((selected.tools, selected.programs), (set(), []))

    def test_a_test_of_the_operator_needs_kubernetes_and_both_programs(self) -> None:
        selected = chosen("operator::")
        self.assertEqual(selected.tools, {"kubernetes"})
        self.assertEqual(selected.programs, ["assay-cli", "assay-operator"])

    def test_tools_of_full_are_built_if_they_are_asked_for(self) -> None:
        self.assertEqual(chosen("chain::").tools, {"kubernetes"})
        self.assertEqual(chosen("bitcoin_core").tools, set())
        self.assertEqual(chosen("bitcoin_core", is_full=True).tools, {"Bitcoin Core"})
        self.assertIn("cmake", chosen("bitcoin_core", is_full=True).packages)

    def test_words_that_match_nothing_have_near_titles(self) -> None:
        titles = [test.title for test in TESTS]
        self.assertEqual(selection.unmatched(["operator", "oprator"], titles), ["oprator"])
        self.assertEqual(selection.near("oprator", titles), ["tests/cluster operator::it_starts"])
        self.assertEqual(selection.near("mony_is_followed", titles)[:1], [TESTS[0].title])
        self.assertEqual(selection.near("zzz", titles), [])
