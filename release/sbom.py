#!/usr/bin/env python3
"""Says what a program is made of, in CycloneDX: release/sbom.py PACKAGE [TRIPLE]

From Cargo's own answers: every crate that the package is built with for a target, or for this machine, with
version, licence and, where it comes from a registry, the digest that Cargo.lock holds it to. The same
source makes the same bytes.
"""

import json
import subprocess
import sys
import tomllib
import uuid


def this_machine():
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))


def metadata(platform):
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={platform}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def needed(nodes, root):
    """What a package needs to be built, by its identifiers; tests need more."""
    found, waiting = set(), [root]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.add(package)
        waiting += (dependency["pkg"] for dependency in nodes[package]["deps"]
                    if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]))
    return found


# Licences of crates that contain sources with another one than they state.
INSIDE = {"lmdb-master-sys": "Apache-2.0 AND OLDAP-2.8"}


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, digests, kind="library"):
    described = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["license"]:
        # Older crates separate with a slash what they offer to choose from.
        expression = package["license"].replace("/", " OR ")
        described["licenses"] = [{"expression": INSIDE.get(package["name"], expression)}]
    digest = digests.get((package["name"], package["version"]))
    if digest:
        described["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return described


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: release/sbom.py PACKAGE [TRIPLE]")
    known = metadata(sys.argv[2] if len(sys.argv) == 3 else this_machine())
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    roots = [p for p in known["workspace_members"] if packages[p]["name"] == sys.argv[1]]
    if not roots:
        sys.exit(f"there is no package {sys.argv[1]}")
    with open(f"{known['workspace_root']}/Cargo.lock", "rb") as file:
        locked = tomllib.load(file)["package"]
    digests = {(p["name"], p["version"]): p.get("checksum") for p in locked}
    root = roots[0]
    all_needed = sorted(needed(nodes, root), key=lambda package: reference(packages[package]))
    dependencies = [
        {
            "ref": reference(packages[package]),
            "dependsOn": sorted({reference(packages[dependency["pkg"]]) for dependency in nodes[package]["deps"]
                                 if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])}),
        }
        for package in all_needed
    ]
    components = [component(packages[package], digests) for package in all_needed if package != root]
    content = json.dumps([components, dependencies], sort_keys=True)
    print(json.dumps({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"component": component(packages[root], digests, "application")},
        "components": components,
        "dependencies": dependencies,
    }, indent=1))


if __name__ == "__main__":
    main()
