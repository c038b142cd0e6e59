#!/usr/bin/env python3
"""Packs the program `assay` for machines without Rust: release/package.py --program FILE --version VERSION
--target TRIPLE FOLDER

FOLDER then holds an archive (assay-VERSION-TRIPLE.tar.gz) and a Debian package (assay_VERSION_ARCH.deb) with the
program, its manual pages and the completions of shells. Both state the oldest C library that the program runs
with. A program for another architecture cannot print its pages: --printer names one of the same version that runs
here. The same files make the same bytes.
"""

import argparse
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

# Debian's names of architectures, by the first word of a target triple.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7": "armhf", "riscv64gc": "riscv64", "powerpc64le": "ppc64el"}
# Debian packages, by the libraries that they have.
LIBRARY_PACKAGES = {"libgcc_s.so.1": "libgcc-s1"}
# The C library's own files.
C_LIBRARY = re.compile(r"(lib(c|m|dl|pthread|rt)|ld-linux[\w-]*)\.so\.\d")
# The places that shells look at, by the shell.
COMPLETIONS = {
    "bash": "share/bash-completion/completions/assay",
    "zsh": "share/zsh/site-functions/_assay",
    "fish": "share/fish/vendor_completions.d/assay.fish",
}
PROJECT = pathlib.Path(__file__).resolve().parent.parent


def printed(*command):
    try:
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    except OSError as error:
        sys.exit(f"{command[0]} does not run here: {error.strerror}")
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{run.stderr}")
    return run.stdout


def needed_libraries(program):
    """The libraries that the loader loads for the program, and the oldest version of the C library, or None."""
    libraries = re.findall(r"\(NEEDED\).*\[(.+)\]", printed("readelf", "--dynamic", program))
    versions = re.findall(r"\bGLIBC_(\d+(?:\.\d+)+)", printed("readelf", "--version-info", program))
    oldest = max(versions, key=lambda version: tuple(map(int, version.split("."))), default=None)
    return libraries, oldest


def dependencies(libraries, c_library):
    """The Debian packages that the program needs."""
    names = [f"libc6 (>= {c_library})"] if c_library else []
    for library in libraries:
        if C_LIBRARY.match(library):
            continue
        if library not in LIBRARY_PACKAGES:
            sys.exit(f"the program needs {library}, and release/package.py does not know which Debian package has it")
        names.append(LIBRARY_PACKAGES[library])
    return ", ".join(names)


def requirements(target, c_library):
    """The machines that the program runs on, in a sentence."""
    linked = f"with glibc {c_library} or later" if c_library else "with any C library"
    return f"assay for {target} needs Linux {linked}."


def contents(program, printer, requirement):
    """All files, by their paths below the prefix, with their modes."""
    files = {"bin/assay": (pathlib.Path(program).read_bytes(), 0o755)}
    with tempfile.TemporaryDirectory() as folder:
        printed(printer, "manual", folder)
        for page in sorted(pathlib.Path(folder).iterdir()):
            # Without a name and a time inside, the same page makes the same bytes.
            files[f"share/man/man1/{page.name}.gz"] = (gzip.compress(page.read_bytes(), mtime=0), 0o644)
    for shell, path in COMPLETIONS.items():
        files[path] = (printed(printer, "completions", shell).encode(), 0o644)
    for name in ("LICENSE", "NOTICE"):
        files[f"share/doc/assay/{name}"] = ((PROJECT / name).read_bytes(), 0o644)
    files["share/doc/assay/REQUIREMENTS"] = (f"{requirement}\n".encode(), 0o644)
    return files


def tarball(files, prefix):
    """A compressed archive of files and of the folders that hold them."""
    content = io.BytesIO()
    with gzip.GzipFile(fileobj=content, mode="wb", compresslevel=6, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        folders = {parent for path in files for parent in pathlib.PurePosixPath(prefix, path).parents}
        for folder in sorted(map(str, folders - {pathlib.PurePosixPath(".")})):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(info)
        for path, (data, mode) in sorted(files.items()):
            info = tarfile.TarInfo(str(pathlib.PurePosixPath(prefix, path)))
            info.size, info.mode = len(data), mode
            archive.addfile(info, io.BytesIO(data))
    return content.getvalue()


def debian_package(files, version, architecture, needs):
    """A Debian package of files below /usr: an `ar` archive of its format's version, a description and the files."""
    size = sum(len(data) for data, _ in files.values()) // 1024
    control = f"""Package: assay
Version: {version}
Architecture: {architecture}
Maintainer: Assay
Installed-Size: {size}
Depends: {needs}
Section: net
Priority: optional
Description: address risk for blockchains, self-hosted
 Assesses addresses and transfers, explains each score to a tenth of a point,
 and serves assessments over REST.
"""
    if not needs:
        control = control.replace("Depends: \n", "")
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": tarball({"control": (control.encode(), 0o644)}, "."),
        "data.tar.gz": tarball(files, "usr"),
    }
    content = b"!<arch>\n"
    for name, data in members.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return content


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the program `assay`, built for the target")
    parser.add_argument("--version", required=True, help="version of the program")
    parser.add_argument("--target", required=True, help="target triple of the program")
    parser.add_argument("--printer", help="program of the same version that runs here [default: the program]")
    parser.add_argument("output", help="the folder")
    arguments = parser.parse_args()
    architecture = ARCHITECTURES.get(arguments.target.split("-")[0])
    if "-linux-" not in arguments.target or not architecture:
        sys.exit(f"cannot pack for {arguments.target}: use a triple of Linux that begins with {', '.join(ARCHITECTURES)}")
    libraries, c_library = needed_libraries(arguments.program)
    requirement = requirements(arguments.target, c_library)
    files = contents(arguments.program, arguments.printer or arguments.program, requirement)
    output, version = pathlib.Path(arguments.output), arguments.version
    name = f"assay-{version}-{arguments.target}"
    (output / f"{name}.tar.gz").write_bytes(tarball(files, name))
    package = debian_package(files, version, architecture, dependencies(libraries, c_library))
    (output / f"assay_{version}_{architecture}.deb").write_bytes(package)
    print(requirement)


if __name__ == "__main__":
    main()
