"""Tests are found in sources under the names that libtest gives them."""

import tempfile
import unittest
from pathlib import Path

from runner import sources
from runner.workspace import Target

LIBRARY = """\
mod alone;
mod folder;

fn no_test() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs faketime, more time"]
    fn first() {
        if true {
        }
    }

    proptest! {
        #[test]
        fn second(number in 0..3) {}
    }

    mod deeper {
        #[tokio::test(flavor = "multi_thread")]
        async fn third() {}
    }
}

#[test]
fn last() {}
"""
MACRO = """\
macro_rules! contract {
    (@ $($check:ident),+) => {
        $(
            #[tokio::test]
            async fn $check() {}
        )+
    };
    ($($backend:ident),+) => {
        $(contract! { @
            it_reads,
            it_writes,
        })+
    };
}

contract!(sqlite, postgres);
crate::contract!(
    one => here(),
    two => there().await,
);
"""


class SourcesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def names(self, files: dict[str, str], macros: dict[str, list[str]]) -> list[str]:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        root = self.folder / "lib.rs"
        found = sources.Contents()
        self.target = Target("assay-box", "assay_box", "lib", root)
        sources._read(self.target, root, self.folder, (), macros, found)
        self.found = found
        return [test.name for test in found.tests]

    def test_names_have_the_modules_of_files_and_of_blocks(self) -> None:
        files = {
            "lib.rs": LIBRARY,
            "alone.rs": "mod below;\n",
            "alone/below.rs": "#[test]\nfn of_file() {}\n",
            "folder/mod.rs": "mod tests;\n",
            "folder/tests.rs": "#[test]\nfn of_folder() {}\n",
        }
        expected = ["alone::below::of_file", "folder::tests::of_folder"]
        expected += ["tests::first", "tests::second", "tests::deeper::third", "last"]
        self.assertEqual(self.names(files, {}), expected)
        first = next(test for test in self.found.tests if test.name == "tests::first")
        self.assertEqual(first.message, "needs faketime, more time")
        self.assertEqual(first.title, "box tests::first")

    def test_macros_make_a_module_of_tests_for_each_argument(self) -> None:
        macros = sources.test_macros(MACRO)
        self.assertEqual(macros, {"contract": ["it_reads", "it_writes"]})
        modules = ["sqlite", "postgres", "one", "two"]
        expected = [f"{module}::{check}" for module in modules for check in ["it_reads", "it_writes"]]
        self.assertEqual(self.names({"lib.rs": MACRO}, macros), expected)
