"""Cargo builds the targets of a selection, and programs only beside tests that may start them."""

import unittest
from pathlib import Path

from runner.rust import commands
from runner.workspace import Target


def target(package: str, name: str, kind: str) -> Target:
    return Target(package, name, kind, Path("lib.rs"))


class CommandsTest(unittest.TestCase):
    def test_unit_tests_are_built_alone(self) -> None:
        targets = [target("assay-engine", "assay_engine", "lib"), target("assay-cli", "assay", "bin")]
        expected = [
            ["test", "--no-run", "--package", "assay-engine", "--lib"],
            ["test", "--no-run", "--package", "assay-cli", "--bin", "assay"],
        ]
        self.assertEqual(commands(targets, []), expected)

    def test_programs_are_built_beside_their_tests(self) -> None:
        targets = [target("assay-tests", "all", "test"), target("assay-tests", "assay_tests", "lib")]
        beside = ["--package", "assay-tests", "--package", "assay-cli", "--bins", "--test", "all"]
        alone = ["test", "--no-run", "--package", "assay-tests", "--lib"]
        self.assertEqual(commands(targets, ["assay-cli"]), [["build", *beside], alone])
