//! The files that a manifest of a source may name: those below folders that the machine's operator chose.
//!
//! The author of a manifest may be someone else than the machine's operator. Without a bound, the author could make a
//! program read any file of the machine, and send the file to a foreign server.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use crate::NamedCredentials;

/// The folders of files that manifests of sources may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedSourcePaths {
    /// The folder of lists, labels and credentials. Relative paths begin here.
    pub source_dir: PathBuf,
    /// Further folders of credentials, such as that of a node's cookie.
    pub credentials_dirs: Vec<PathBuf>,
    /// Credentials of single sources, by the name of the source.
    pub source_credentials: Vec<NamedCredentials>,
}

/// A file that a manifest must not name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenFileError {
    /// The location of a list or label set.
    #[error(
        "the location `{location}` is no file below {folder}: put it there, or choose the folder with --source-dir"
    )]
    Location {
        /// The location.
        location: String,
        /// The folder.
        folder: String,
    },
    /// A file with credentials.
    #[error(
        "the credentials file `{path}` does not lie below {folders}: put it there, or name its folder in \
         the setting credentials-dirs (ASSAY_CREDENTIALS_DIRS); its path must not contain `..`"
    )]
    Credentials {
        /// The path.
        path: String,
        /// The folders.
        folders: Folders,
    },
}

/// Folders in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders(Vec<PathBuf>);

impl fmt::Display for Folders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, folder) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { " or " };
            write!(formatter, "{separator}{}", folder.display())?;
        }
        Ok(())
    }
}

impl AllowedSourcePaths {
    /// Returns the location to read: the URL, or the path of the file below the folder of sources.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such file below the folder.
    pub fn location(&self, location: &str) -> Result<String, ForbiddenFileError> {
        if location.contains("://") {
            return Ok(location.to_owned());
        }
        let folders = [self.source_dir.as_path()];
        let found = below(Path::new(location), folders.into_iter());
        let path =
            found.filter(|path| path.exists()).and_then(|path| path.to_str().map(str::to_owned));
        path.ok_or_else(|| ForbiddenFileError::Location {
            location: location.to_owned(),
            folder: self.source_dir.display().to_string(),
        })
    }

    /// Returns the path of a folder below the folder of sources, without links. The folder may not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the path lies elsewhere.
    pub fn folder(&self, path: &Path) -> Result<PathBuf, ForbiddenFileError> {
        below(path, [self.source_dir.as_path()].into_iter()).ok_or_else(|| {
            ForbiddenFileError::Location {
                location: path.display().to_string(),
                folder: self.source_dir.display().to_string(),
            }
        })
    }

    /// Returns the path of a file with credentials, without links. The file may not exist yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the file lies outside the folders.
    pub fn credentials_path(&self, path: &Path) -> Result<PathBuf, ForbiddenFileError> {
        let folders = || [&self.source_dir].into_iter().chain(&self.credentials_dirs);
        below(path, folders().map(PathBuf::as_path)).ok_or_else(|| {
            ForbiddenFileError::Credentials {
                path: path.display().to_string(),
                folders: Folders(folders().cloned().collect()),
            }
        })
    }
}

/// Returns a path without links, if it lies below one of the folders. A relative path begins in the first folder.
/// `None`: the path lies elsewhere, contains `..`, or is a broken link.
fn below<'a>(path: &Path, mut folders: impl Iterator<Item = &'a Path> + Clone) -> Option<PathBuf> {
    if path.components().any(|component| component == Component::ParentDir) {
        return None;
    }
    let first = folders.clone().next()?;
    // What counts is the file that would be read.
    let path = without_links(&first.join(path))?;
    let lies_below = |folder: &Path| {
        without_links(folder).is_some_and(|folder| path != folder && path.starts_with(folder))
    };
    folders.any(lies_below).then_some(path)
}

/// Returns an absolute path without links. The last components of the path may not exist yet.
fn without_links(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(existing) = ancestor.canonicalize() {
            return Some(missing.iter().rev().fold(existing, |path, name| path.join(name)));
        }
        // A link that leads nowhere could lead anywhere later.
        if ancestor.symlink_metadata().is_ok() {
            return None;
        }
        missing.push(ancestor.file_name()?);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A machine with a folder of sources, a folder of a node, and a file outside of both folders.
    fn machine() -> (tempfile::TempDir, AllowedSourcePaths) {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in ["sources/sub", "node"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["sources/a.csv", "sources/sub/b.csv", "node/.cookie", "secret"] {
            fs::write(at(file), "x").unwrap();
        }
        symlink("../secret", at("sources/link")).unwrap();
        symlink("..", at("sources/up")).unwrap();
        symlink("../later", at("sources/dangling")).unwrap();
        symlink("sub/b.csv", at("sources/inside")).unwrap();
        symlink("node", at("alias")).unwrap();
        let files = AllowedSourcePaths {
            source_dir: at("sources"),
            credentials_dirs: vec![at("alias")],
            source_credentials: vec![],
        };
        (root, files)
    }

    #[test]
    fn a_location_is_a_url_or_a_file_below_the_folder() {
        let (root, files) = machine();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path).display().to_string();
        let located = |location: &str| files.location(location).ok();
        assert_eq!(located("a.csv"), Some(at("sources/a.csv")));
        assert_eq!(located("sub/b.csv"), Some(at("sources/sub/b.csv")));
        assert_eq!(located("inside"), Some(at("sources/sub/b.csv")));
        assert_eq!(located(&at("sources/a.csv")), Some(at("sources/a.csv")));
        assert_eq!(located("https://lists.example/a"), Some("https://lists.example/a".into()));
        let (secret, cookie) = (at("secret"), at("node/.cookie"));
        for outside in [
            "../secret",
            "link",
            "up/secret",
            "dangling",
            "sub/../../secret",
            &secret,
            &cookie,
            "/etc/hostname",
            "none",
            ".",
            "",
        ] {
            let error = files.location(outside).unwrap_err().to_string();
            let said = format!("the location `{outside}` is no file below ");
            assert!(error.starts_with(&said), "{error}");
        }
    }

    #[test]
    fn credentials_lie_below_the_folder_of_sources_or_one_of_credentials() {
        let (root, files) = machine();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path);
        let found = |path: &str| files.credentials_path(Path::new(path)).ok();
        assert_eq!(found("a.csv"), Some(at("sources/a.csv")));
        assert_eq!(found("later"), Some(at("sources/later")), "a node writes its cookie later");
        let cookie = |folder: &str| root.path().join(folder).join(".cookie").display().to_string();
        assert_eq!(found(&cookie("node")), Some(at("node/.cookie")));
        assert_eq!(found(&cookie("alias")), Some(at("node/.cookie")));
        let climbing = format!("{}/../secret", root.path().join("node").display());
        for outside in
            ["/etc/passwd", "link", "up/secret", "dangling", "../node/.cookie", &climbing]
        {
            let error = files.credentials_path(Path::new(outside)).unwrap_err().to_string();
            let [sources, alias] = ["sources", "alias"].map(|name| root.path().join(name));
            let folders = format!("{} or {}", sources.display(), alias.display());
            let said = format!(
                "the credentials file `{outside}` does not lie below {folders}: put it there, or name its folder \
                 in the setting credentials-dirs (ASSAY_CREDENTIALS_DIRS); its path must not contain `..`"
            );
            assert_eq!(error, said);
        }
    }
}
