"""Tests of the check of names and sentences."""

import tempfile
import unittest
from pathlib import Path

from runner import words


class Sentences(unittest.TestCase):
    """A sentence begins with a noun or a verb."""

    def test_refuses_every_opener_wherever_a_sentence_begins(self) -> None:
        page = "# Where it lies\n\nA key. What it costs is told.\n\n- So it ends\n\n| a | Whether it ends |\n"
        found = words.sentences_of_markdown("page.md", page)
        self.assertEqual([1, 3, 5, 7], [finding.line for finding in found])
        self.assertIn('not with "Where" (right: "Expiry time.', str(found[0]))

    def test_leaves_questions_code_and_other_words(self) -> None:
        page = "## What does a score mean?\n\nSodium. Thatch.\n\n```\nWhat it costs\n```\n\nIt says what it costs.\n"
        self.assertEqual([], words.sentences_of_markdown("page.md", page))

    def test_reads_doc_comments_and_help_texts_but_not_other_comments(self) -> None:
        source = '/// A key,\n/// read. What it costs.\n// What stays.\n#[arg(help = "So that \\\n   it ends")]\nlet a = "What";\n'
        found = words.sentences_of_rust("a.rs", source)
        self.assertEqual([1, 4], [finding.line for finding in found])

    def test_reads_descriptions_in_json_and_yaml(self) -> None:
        self.assertEqual(1, len(words.sentences_of_json("a.json", '{"a": [{"description": "Where it lies."}]}')))
        manifest = "a:\n  description: |-\n    A key.\n    What it costs.\n  type: What\n"
        self.assertEqual([3], [finding.line for finding in words.sentences_of_yaml("a.yaml", manifest)])


class Names(unittest.TestCase):
    """Names say what a thing is, and a public type name stands for one thing."""

    def test_refuses_listed_names_where_they_are_defined(self) -> None:
        source = "pub(crate) struct Place;\nasync fn lend() {}\nmod kept;\nconst OTHER_ADDRESSES: u32 = 1;\nuse std::process::Child;\n"
        found = words.names_of_rust("a.rs", source)
        self.assertEqual([1, 2, 3, 4], [finding.line for finding in found])

    def test_refuses_a_public_type_in_two_crates_but_not_in_tests(self) -> None:
        files = [
            ("api/src/a.rs", "pub struct Row;\npub struct Alone;\nstruct Private;\n"),
            ("crates/store/src/b.rs", "pub(crate) enum Row {}\nstruct Private;\n#[cfg(test)]\nmod tests {\n    pub struct Alone;\n"),
        ]
        found = [finding for finding in words.names_in_two_crates(files) if '"Row"' in finding.message]
        self.assertEqual([("api/src/a.rs", 1)], [(finding.file, finding.line) for finding in found])
        self.assertFalse(any('"Alone"' in str(finding) for finding in words.names_in_two_crates(files)))

    def test_reports_allowed_names_that_no_longer_stand_in_two_crates(self) -> None:
        words.NAMES_IN_TWO_CRATES["Gone"] = "for this test"
        self.addCleanup(words.NAMES_IN_TWO_CRATES.pop, "Gone")
        self.assertIn('"Gone" is allowed', str(words.names_in_two_crates([])[-1]))

    def test_reads_the_files_of_a_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.md").write_text("What it costs.\n")
            self.assertEqual(["a.md"], [finding.file for finding in words.findings(Path(folder), ["a.md", "b.md", "c.png"])
                                        if finding.file == "a.md"])


if __name__ == "__main__":
    unittest.main()
