//! Contents of a release.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
};

use assay_tests::{Helm, binary};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{chart, file, text};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).current_dir(file(".")).output().unwrap()
}

/// Output of a program.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn unpack(archive: &Path, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let (archive, folder) = (archive.to_str().unwrap(), folder.to_str().unwrap());
    printed("tar", &["--extract", "--file", archive, "--directory", folder]);
}

/// Reads a document of an image, whose bytes must be what its digest says.
fn blob(folder: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let content = fs::read(folder.join("blobs/sha256").join(digest)).unwrap();
    assert_eq!(hex::encode(Sha256::digest(&content)), digest);
    assert_eq!(descriptor["size"], content.len());
    content
}

#[test]
fn an_image_has_all_files_of_its_program_and_is_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("first.tar");
    let other = folder.path().join("second.tar");
    let program = format!("{}=/usr/bin/assay", binary().display());
    let script = "release/image.py";
    for output in [&archive, &other] {
        let output = output.to_str().unwrap();
        printed(script, &["--name", "assay/assay:1", "--program", &program, output]);
    }
    assert!(fs::read(&archive).unwrap() == fs::read(&other).unwrap(), "the same bytes");
    fs::remove_file(other).unwrap();

    let image = folder.path().join("image");
    unpack(&archive, &image);
    let index: Value =
        serde_json::from_slice(&fs::read(image.join("index.json")).unwrap()).unwrap();
    let named = &index["manifests"][0];
    assert_eq!(named["annotations"]["io.containerd.image.name"], "assay/assay:1");
    let manifest: Value = serde_json::from_slice(&blob(&image, named)).unwrap();
    let config: Value = serde_json::from_slice(&blob(&image, &manifest["config"])).unwrap();
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/assay");
    assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);

    let layer = folder.path().join("layer.tar");
    fs::write(&layer, blob(&image, &manifest["layers"][0])).unwrap();
    let root = folder.path().join("root");
    unpack(&layer, &root);
    let root = root.to_str().unwrap();
    // With the image as the root directory: missing files are not found elsewhere.
    let version =
        printed("unshare", &["--map-root-user", "chroot", root, "/usr/bin/assay", "--version"]);
    assert_eq!(version.trim(), concat!("assay ", env!("CARGO_PKG_VERSION")));
    // Time zone data is not needed either: the built-in manifests are imported without it.
    let migrate = ["/usr/bin/assay", "--data-dir=/tmp/data", "migrate"];
    let made = printed("unshare", &[&["--map-root-user", "chroot", root], &migrate[..]].concat());
    assert!(made.contains("the database is up to date"), "{made}");
}

#[test]
fn an_image_without_a_tag_is_refused() {
    let output =
        run("release/image.py", &["--name", "assay/assay", "--program", "Cargo.toml", "/dev/null"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("lacks a tag: write NAME:TAG"), "{said}");
}

/// The program without what only debuggers read, as small as that of a release.
fn stripped(folder: &Path) -> String {
    let program = folder.join("assay").display().to_string();
    printed("strip", &["-o", &program, &binary().display().to_string()]);
    program
}

const TARGET: &str = "x86_64-unknown-linux-gnu";
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn an_archive_and_a_debian_package_hold_the_program_with_its_pages_and_are_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    let program = stripped(folder.path());
    let folders = ["first", "second"].map(|name| folder.path().join(name));
    for folder in &folders {
        fs::create_dir(folder).unwrap();
        let output = folder.to_str().unwrap();
        let wanted = ["--program", &program, "--version", VERSION, "--target", TARGET, output];
        let told = printed("release/package.py", &wanted);
        assert!(told.contains(&format!("{TARGET} needs Linux with glibc 2.")), "{told}");
    }
    let names = [format!("assay-{VERSION}-{TARGET}.tar.gz"), format!("assay_{VERSION}_amd64.deb")];
    let [archive, package] = names.map(|name| {
        let [first, second] = folders.each_ref().map(|folder| folder.join(&name));
        assert!(fs::read(&first).unwrap() == fs::read(second).unwrap(), "{name}: the same bytes");
        first
    });
    // Given the unpacked archive, and the package as Debian unpacks it...
    let unpacked = folder.path().join("unpacked");
    unpack(&archive, &unpacked);
    let root = folder.path().join("root");
    let paths = [package.to_str().unwrap(), root.to_str().unwrap()];
    printed("dpkg-deb", &["--extract", paths[0], paths[1]]);
    let needs = printed("dpkg-deb", &["--field", paths[0], "Depends"]);
    assert!(needs.starts_with("libc6 (>= 2."), "{needs}");
    // ...then each has the program, a page for each command, and what shells complete.
    for tree in [unpacked.join(format!("assay-{VERSION}-{TARGET}")), root.join("usr")] {
        let at = |path: &str| tree.join(path).display().to_string();
        assert_eq!(printed(&at("bin/assay"), &["--version"]).trim(), format!("assay {VERSION}"));
        for page in ["assay", "assay-check", "assay-ingest-chain", "assay-keys-create"] {
            let text = printed("gzip", &["-cd", &at(&format!("share/man/man1/{page}.1.gz"))]);
            assert!(text.contains(&format!(".TH {page} 1")), "{page}: {text:.200}");
        }
        let completed = fs::read_to_string(at("share/bash-completion/completions/assay")).unwrap();
        assert!(completed.contains("check-transfer"));
        let requirements = fs::read_to_string(at("share/doc/assay/REQUIREMENTS")).unwrap();
        assert!(requirements.contains("glibc 2."), "{requirements}");
    }
}

#[test]
fn a_package_for_another_system_is_refused_with_those_that_there_are() {
    let wanted = ["--program", "Cargo.toml", "--version", "1", "--target", "aarch64-apple-darwin"];
    let output = run("release/package.py", &[&wanted[..], &["/tmp"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot pack for aarch64-apple-darwin: use a triple of Linux"), "{said}");
}

#[test]
fn the_bill_of_materials_names_every_crate_that_is_built_in() {
    for package in ["assay-cli", "assay-operator"] {
        let text = printed("release/sbom.py", &[package]);
        assert_eq!(text, printed("release/sbom.py", &[package]), "the same bytes");
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&bill["bomFormat"], &bill["specVersion"]),
            (&"CycloneDX".into(), &"1.6".into())
        );
        let components = bill["components"].as_array().unwrap();
        let mut named = BTreeSet::from([format!("{package} v{}", env!("CARGO_PKG_VERSION"))]);
        for component in components {
            let [name, version] =
                ["name", "version"].map(|field| component[field].as_str().unwrap());
            let is_own = name.starts_with("assay-");
            assert!(
                is_own || component["hashes"][0]["content"].is_string(),
                "{name} has no digest"
            );
            assert!(is_own || component["licenses"][0]["expression"].is_string(), "{name}");
            named.insert(format!("{name} v{version}"));
        }
        let tree =
            ["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "-p", package];
        let tree = printed(env!("CARGO"), &tree);
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split(' ').take(2).collect();
            assert!(named.contains(&words.join(" ")), "{package}: {line}");
        }
        assert!(!named.iter().any(|name| name.starts_with("insta v")), "tests are not built in");
    }
    assert!(!run("release/sbom.py", &["nothing"]).status.success());
}

#[test]
fn images_use_the_pinned_toolchain_and_a_numeric_user() {
    let toolchain = text("rust-toolchain.toml");
    let version = toolchain.lines().find_map(|line| line.strip_prefix("channel = ")).unwrap();
    let recipe = text("Containerfile");
    let wanted = format!("ARG RUST_VERSION={}", version.trim_matches('"'));
    assert!(recipe.contains(&wanted), "Containerfile lacks {wanted}");
    assert!(recipe.contains("USER 65532:65532"));
}

#[test]
#[ignore = "needs Helm"]
fn the_packaged_chart_is_the_chart() {
    let helm = Helm::find();
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().to_str().unwrap();
    let _ = helm.run(&["package", &chart(), "--destination", destination]).ok();
    let package = format!("{destination}/assay-{}.tgz", env!("CARGO_PKG_VERSION"));
    let files = printed("tar", &["--list", "--gzip", "--file", &package]);
    assert!(files.contains("assay/crds/tenants.yaml") && !files.contains("examples"), "{files}");
    let render =
        |chart: &str| helm.run(&["template", "assay", chart, "--include-crds"]).ok().stdout;
    assert!(render(&package) == render(&chart()));
}
