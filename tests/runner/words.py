"""Checks how names and sentences of the tree are written, without compiling.

Three rules. A sentence of a doc comment, a page, a help text or a description has a noun or a verb at its beginning.
A type, function or module has no name of the list that `words_list` holds. A public type name stands for one thing:
it is defined in one crate.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

from .words_list import NAMES_IN_TWO_CRATES, REPLACEMENTS
from .workspace import ROOT

_OPENERS = ("What", "Where", "Whoever", "Whatever", "Wherever", "Whether", "So", "That")
SENTENCE_RULE = (
    'a sentence begins with a noun or a verb and says who does what, not with "{word}"'
    ' (right: "Expiry time. Unset: the key does not expire.")'
)
NAME_RULE = '"{name}" does not say what it names (right: {instead})'
CRATE_RULE = 'the type name "{name}" is defined in {crates}: one name, one meaning (right: `RedisUrl` and `ShardId` instead of two `Place`)'

_OPENER = re.compile(rf"({'|'.join(_OPENERS)})\b(?!['’]s )", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])[)\"”]?\s+(?=[A-Z`\"“(\[*_])")
_CODE_FENCE = re.compile(r"^\s*(```|~~~)")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_HEADING = re.compile(r"^#+\s+")
_DOC_COMMENT = re.compile(r"^\s*(///|//!)( ?)(.*)$")
_TEXT_LITERAL = re.compile(r'\b(?:help|long_help|about|long_about|description)\s*(?:=|:|\()\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_DEFINITION = re.compile(
    r"^\s*(?P<visibility>pub(?:\([^)]*\))?\s+)?(?:const |async |unsafe |default |extern \"C\" )*"
    r"(?P<kind>struct|enum|union|trait|type|fn|mod) (?P<name>\w+)"
)
_CONSTANT = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const|static) (?P<name>[A-Z]\w+):")
# The beginning of the tests in a source file.
_TESTS = "#[cfg(test)]\nmod tests {"
_TYPE_KINDS = ("struct", "enum", "union", "trait", "type")
_TEST_FILES = ("tests.rs", "test.rs")


@dataclass(frozen=True, order=True)
class Finding:
    """A place that breaks a rule."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def bad_openings(paragraph: str) -> list[str]:
    """The words with which sentences of a paragraph begin although the rule refuses them. Questions may."""
    found = []
    for sentence in _SENTENCE_END.split(paragraph.strip()):
        bare = sentence.lstrip("\"“(*_[ ")
        if (match := _OPENER.match(bare)) and not sentence.rstrip(")*_\"”").endswith("?"):
            found.append(match.group(1))
    return found


def paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items, headings and cells of tables of a text in Markdown, each with its first line's number."""
    first, text, is_code = 0, "", False
    for number, line in lines:
        if _CODE_FENCE.match(line):
            is_code = not is_code
            line = ""
        elif is_code:
            continue
        stripped = line.strip()
        if not stripped or stripped.startswith("|") or _LIST_ITEM.match(line) or _HEADING.match(stripped):
            if text:
                yield first, text
            text = ""
        if stripped.startswith("|"):
            for cell in stripped.strip("|").split("|"):
                yield number, cell.strip()
            continue
        if not text:
            first = number
        content = _HEADING.sub("", _LIST_ITEM.sub("", line).strip())
        text = f"{text} {content}".strip()
        if _HEADING.match(stripped):
            yield first, text
            text = ""
    if text:
        yield first, text


def sentences_of_markdown(file: str, text: str) -> list[Finding]:
    """Findings in a page."""
    return _in_paragraphs(file, enumerate(text.splitlines(), 1))


def sentences_of_rust(file: str, text: str) -> list[Finding]:
    """Findings in doc comments and in help texts of a source file."""
    findings, block, mark = [], [], ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        match = _DOC_COMMENT.match(line)
        if block and (not match or match.group(1) != mark):
            findings += _in_paragraphs(file, block)
            block = []
        if match:
            mark = match.group(1)
            block.append((number, match.group(3)))
    for match in _TEXT_LITERAL.finditer(text):
        literal = re.sub(r"\\\n\s*", "", match.group(1)).replace("\\n", "\n")
        number = text.count("\n", 0, match.start()) + 1
        findings += _in_paragraphs(file, ((number, line) for line in literal.splitlines()))
    return findings


def sentences_of_json(file: str, text: str) -> list[Finding]:
    """Findings in the descriptions and summaries of a description in JSON."""
    findings: list[Finding] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key in ("description", "summary", "title") and isinstance(item, str):
                    findings.extend(_in_paragraphs(file, ((0, line) for line in item.splitlines())))
                else:
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(json.loads(text))
    return findings


def sentences_of_yaml(file: str, text: str) -> list[Finding]:
    """Findings in the descriptions of a manifest, and in comments of values."""
    findings, lines, index = [], text.splitlines(), 0
    while index < len(lines):
        match = re.match(r"^(\s*(?:- )?)description:\s*(.*)$", lines[index])
        number = index + 1
        index += 1
        if not match:
            if comment := re.match(r"^\s*# (?:-- )?(.*)$", lines[number - 1]):
                block = [(number, comment.group(1))]
                while index < len(lines) and (more := re.match(r"^\s*#(?: (.*))?$", lines[index])):
                    block.append((index + 1, more.group(1) or ""))
                    index += 1
                findings += _in_paragraphs(file, block)
            continue
        block = [(number, "" if match.group(2)[:1] in ("|", ">") else match.group(2).strip("\"'"))]
        while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > len(match.group(1))):
            block.append((index + 1, lines[index].strip()))
            index += 1
        findings += _in_paragraphs(file, block)
    return findings


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _in_paragraphs(file: str, lines: Iterable[tuple[int, str]]) -> list[Finding]:
    return [
        Finding(file, number, f"{SENTENCE_RULE.format(word=word)}: {paragraph[:60]}")
        for number, paragraph in paragraphs(lines)
        for word in bad_openings(paragraph)
    ]


def names_of_rust(file: str, text: str) -> list[Finding]:
    """Definitions whose names the list replaces."""
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DEFINITION.match(line) or _CONSTANT.match(line)
        if match and (instead := REPLACEMENTS.get(match.group("name"))):
            findings.append(Finding(file, number, NAME_RULE.format(name=match.group("name"), instead=instead)))
    return findings


def public_types(text: str) -> list[tuple[int, str]]:
    """Names of the types that a file defines for its crate or others, before its tests."""
    found = []
    for number, line in enumerate(text.partition(_TESTS)[0].splitlines(), 1):
        match = _DEFINITION.match(line)
        if match and match.group("kind") in _TYPE_KINDS and (match.group("visibility") or "").strip() in ("pub", "pub(crate)"):
            found.append((number, match.group("name")))
    return found


def names_in_two_crates(files: Iterable[tuple[str, str]]) -> list[Finding]:
    """Public type names that several crates define and the list does not allow; `files` are names with texts."""
    places: dict[str, dict[str, tuple[str, int]]] = {}
    for file, text in files:
        crate = file.partition("/src/")[0]
        for number, name in public_types(text):
            places.setdefault(name, {}).setdefault(crate, (file, number))
    findings = []
    for name, crates in places.items():
        if len(crates) > 1 and name not in NAMES_IN_TWO_CRATES:
            file, number = next(iter(crates.values()))
            findings.append(Finding(file, number, CRATE_RULE.format(name=name, crates=", ".join(crates))))
    return findings + [
        Finding("tests/runner/words_list.py", 0, f'"{name}" is allowed in two crates but is not defined there')
        for name in NAMES_IN_TWO_CRATES
        if len(places.get(name, ())) < 2
    ]


def is_test(file: str) -> bool:
    """True for sources of tests, whose type names may stand for several things."""
    return "/src/" not in file or file.startswith("tests/") or Path(file).name in _TEST_FILES or "/tests/" in file


def findings(root: Path, files: Iterable[str]) -> list[Finding]:
    """Everything in the files of a tree that breaks a rule, in their order; data of tests is no text of ours."""
    found: list[Finding] = []
    programs: list[tuple[str, str]] = []
    for file in sorted(files):
        reader = _READERS.get(Path(file).suffix)
        if file.startswith("tests/") and not file.endswith(".rs"):
            continue
        if not reader or not (root / file).is_file():
            continue
        text = (root / file).read_text()
        found += reader(file, text)
        if file.endswith(".rs"):
            found += names_of_rust(file, text)
            if not is_test(file):
                programs.append((file, text))
    return found + names_in_two_crates(programs)


_READERS = {
    ".rs": sentences_of_rust,
    ".md": sentences_of_markdown,
    ".json": sentences_of_json,
    ".yaml": sentences_of_yaml,
}


def main() -> int:
    """Prints every finding. Returns 1 if there is one."""
    import subprocess

    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    found = findings(ROOT, [file for file in files if file])
    for finding in found:
        print(finding)
    if found:
        print(f"{len(found)} findings; tests/runner/words.py says the rules", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
