#!/usr/bin/env python3
"""Puts programs of this machine into an OCI image, without a builder: an archive that registries and
container runtimes take. It holds the programs, the libraries that they load, and nothing else. The same
files make the same bytes.

    release/image.py --name assay/assay:0.1.0 --program target/release/assay=/usr/bin/assay OUTPUT
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# When everything in it was made: never, so that it is the same every time.
MOMENT = "1970-01-01T00:00:00Z"
# An archive is what it holds; its types are fixed by the specification.
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
# Licences of what the programs contain.
NOTICE = pathlib.Path(__file__).resolve().parent.parent / "NOTICE"


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(path):
    """What the loader loads for a program or library, and the loader."""
    said = subprocess.run(["ldd", path], capture_output=True, text=True, env={"LC_ALL": "C"}, check=False)
    if "not found" in said.stdout:
        sys.exit(f"{path} needs what is not there:\n{said.stdout}")
    # One that is linked statically needs none.
    return re.findall(r"(?:=> )?(/\S+) \(0x", said.stdout)


def collect(programs, trees):
    """All files: from where they are to go, to where they are."""
    files = dict(programs)
    for tree in trees:
        for folder, _, names in os.walk(tree, followlinks=True):
            files.update((os.path.join(folder, name),) * 2 for name in names)
    for path in list(files.values()):
        if is_elf(path):
            files.update((library, library) for library in libraries(path))
    return {target: os.path.realpath(path) for target, path in files.items()}


def header(name, kind, mode, size=0):
    info = tarfile.TarInfo(name.lstrip("/"))
    info.type, info.mode, info.size, info.mtime = kind, mode, size, 0
    return info


def add(archive, name, content, mode=0o644):
    archive.addfile(header(name, tarfile.REGTYPE, mode, len(content)), io.BytesIO(content))


def parents(name):
    """The folders that a file lies in, outermost first."""
    folder = os.path.dirname(name)
    return [*parents(folder), folder] if folder not in ("", "/") else []


def layer(files, user):
    """The one layer, as a tar. Nobody may change what is in it."""
    # Some programs ask who they are; names are looked up in files first.
    texts = {
        "/etc/passwd": f"root:x:0:0::/:\nassay:x:{user}:{user}::/:\n".encode(),
        "/etc/group": f"root:x:0:\nassay:x:{user}:\n".encode(),
        "/etc/nsswitch.conf": b"hosts: files dns\n",
        "/usr/share/doc/assay/NOTICE": NOTICE.read_bytes(),
    }
    names = sorted({*files, *texts})
    folders = sorted({"/tmp", *(folder for name in names for folder in parents(name))})
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder in folders:
            archive.addfile(header(folder, tarfile.DIRTYPE, 0o1777 if folder == "/tmp" else 0o755))
        for name in names:
            if name in texts:
                add(archive, name, texts[name])
                continue
            with open(files[name], "rb") as file:
                executable = os.stat(files[name]).st_mode & 0o100
                add(archive, name, file.read(), 0o755 if executable else 0o644)
    return buffer.getvalue()


def image(name, programs, trees, user):
    """The archive's files, by their names."""
    blobs = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def document(value, kind):
        return blob(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), kind)

    content = layer(collect(programs, trees), user)
    tag = name.rsplit(":", 1)[1]
    first = next(iter(programs))
    path = sorted({os.path.dirname(program) for program in programs})
    config = document(
        {
            "architecture": ARCHITECTURES[platform.machine()],
            "os": "linux",
            "created": MOMENT,
            "config": {
                "User": f"{user}:{user}",
                "Entrypoint": [first],
                "WorkingDir": "/",
                "Env": ["PATH=" + ":".join(path)],
                "Labels": {
                    "org.opencontainers.image.version": tag,
                    "org.opencontainers.image.licenses": "Apache-2.0",
                },
            },
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]},
            "history": [{"created": MOMENT, "created_by": "release/image.py"}],
        },
        CONFIG,
    )
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [blob(content, LAYER)]}
    named = document(manifest, MANIFEST)
    # The full name is for container runtimes, the tag for registries' tools.
    named["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}
    return {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps(index, sort_keys=True).encode(),
        **blobs,
    }


def program(text):
    """A program, and where it goes: PATH or PATH=TARGET."""
    path, _, target = text.partition("=")
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{path} is no file")
    return target or path, path


def name(text):
    if not re.search(r"[^/:]:[\w.-]+$", text):
        raise argparse.ArgumentTypeError(f"{text} lacks a tag: write NAME:TAG")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", type=name, required=True, help="NAME:TAG")
    parser.add_argument("--program", type=program, action="append", required=True,
                        help="PATH or PATH=TARGET; the first is what the image runs")
    parser.add_argument("--tree", action="append", default=[], help="a folder that goes in as it is")
    parser.add_argument("--user", type=int, default=65532, help="who it runs as")
    parser.add_argument("output")
    arguments = parser.parse_args()
    files = image(arguments.name, dict(arguments.program), arguments.tree, arguments.user)
    with tarfile.open(arguments.output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for file, content in files.items():
            add(archive, file, content)


if __name__ == "__main__":
    main()
