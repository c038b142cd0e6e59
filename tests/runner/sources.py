"""Finds tests in the sources, without compiling.

The names are those that libtest lists: the modules from the root of a target to the test. Tests that macros make
are found if the macro's own definition names them, as the contracts of stores and graphs do. A whole run compares
the result with what was built.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .workspace import Target, test_targets

_MODULE = re.compile(r"(?:pub(?:\([^)]*\))? )?mod (\w+)( \{|;)")
_TEST = re.compile(r"#\[(?:tokio::)?test\b")
_IGNORE = re.compile(r'#\[ignore = "([^"]*)"')
_FUNCTION = re.compile(r"(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)")
_MACRO = re.compile(r"^( *)macro_rules! (\w+) \{\n(.*?)^\1\}", re.MULTILINE | re.DOTALL)
_CHECK = re.compile(r"^\s+(\w+),?$", re.MULTILINE)
_CALL = re.compile(r"(?:\w+::)*(\w+)!\s*[({]")


@dataclass(frozen=True)
class SourceTest:
    """A test, as the sources have it."""

    target: Target
    name: str
    # The reason in its `ignore` attribute; empty without one.
    message: str = ""

    @property
    def title(self) -> str:
        return f"{self.target.title} {self.name}"


@dataclass
class Contents:
    """The tests of a target, and the text of all its files."""

    tests: list[SourceTest] = field(default_factory=list)
    text: str = ""


def test_macros(text: str) -> dict[str, list[str]]:
    """The macros in a text that make tests, each with the names of its tests."""
    macros = {}
    for _, name, body in _MACRO.findall(text):
        if _TEST.search(body) and "fn $" in body:
            macros[name] = [check for check in _CHECK.findall(body) if check != "mod"]
    return macros


@cache
def _all_test_macros() -> dict[str, list[str]]:
    macros: dict[str, list[str]] = {}
    for folder in {target.source.parent for target in test_targets()}:
        for file in folder.rglob("*.rs"):
            text = file.read_text()
            if "macro_rules!" in text:
                macros.update(test_macros(text))
    return macros


def contents(target: Target) -> Contents:
    """The tests of a target and its text, found from its first file along its modules."""
    found = Contents()
    _read(target, target.source, target.source.parent, (), _all_test_macros(), found)
    return found


@cache
def all_contents() -> dict[Target, Contents]:
    """The contents of every target."""
    return {target: contents(target) for target in test_targets()}


def _read(
    target: Target, file: Path, folder: Path, path: tuple[str, ...], macros: dict[str, list[str]], found: Contents
) -> None:
    """Reads one file, whose modules without a body have their files in `folder`."""
    text = file.read_text()
    found.text += text
    lines = text.splitlines()
    # Modules with a body that a line stands in, each with its indentation: the code is formatted.
    inside: list[tuple[int, str]] = []
    is_test, message = False, ""
    skip_to: int | None = None
    for number, line in enumerate(lines):
        stripped = line.lstrip()
        indent = len(line) - len(stripped)
        if skip_to is not None:
            if stripped.startswith("}") and indent == skip_to:
                skip_to = None
            continue
        if stripped.startswith("macro_rules!"):
            skip_to = indent
            continue
        if inside and stripped.startswith("}") and indent <= inside[-1][0]:
            inside.pop()
            continue
        modules = (*path, *(name for _, name in inside))
        if match := _MODULE.match(stripped):
            name, ending = match.groups()
            if ending == ";":
                below = folder.joinpath(*(module for _, module in inside))
                for child in (below / f"{name}.rs", below / name / "mod.rs"):
                    if child.is_file():
                        _read(target, child, below / name, (*modules, name), macros, found)
            elif not stripped.endswith("}"):
                inside.append((indent, name))
        elif _TEST.match(stripped):
            is_test = True
        elif match := _IGNORE.match(stripped):
            message = match.group(1)
        elif match := _FUNCTION.match(stripped):
            if is_test:
                found.tests.append(SourceTest(target, "::".join((*modules, match.group(1))), message))
            is_test, message = False, ""
        elif (match := _CALL.match(stripped)) and match.group(1) in macros:
            for module in _arguments(lines[number:], indent):
                for check in macros[match.group(1)]:
                    found.tests.append(SourceTest(target, "::".join((*modules, module, check))))


def _arguments(lines: list[str], indent: int) -> list[str]:
    """The names that a call of a test macro begins its arguments with: the modules that it makes."""
    call = [lines[0]]
    if not lines[0].rstrip().endswith((";", "}")):
        for line in lines[1:]:
            call.append(line)
            if len(line) - len(line.lstrip()) <= indent:
                break
    text = "\n".join(call).partition("!")[2]
    return re.findall(r"(\w+)\s*=>", text) or re.findall(r"\w+", text)


def differences(listed: set[str]) -> list[str]:
    """Titles of built tests that the sources do not seem to contain: the reader above lags behind."""
    known = {test.title for found in all_contents().values() for test in found.tests}
    return sorted(listed - known)

