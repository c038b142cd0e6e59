//! The layers of the settings.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use super::{DEFINITIONS, SettingProblem};

/// The layer and name that set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Variable(String),
    /// A key of the file.
    File {
        /// The file.
        file: String,
        /// The key.
        key: String,
    },
    /// The default.
    Default(&'static str),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(formatter, "--{name}"),
            Self::Variable(name) => formatter.write_str(name),
            Self::File { file, key } => write!(formatter, "{file}: {key}"),
            Self::Default(name) => write!(formatter, "default of {name}"),
        }
    }
}

/// A failure to read the file.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFileError {
    /// The file is not readable.
    #[error("failed to read the settings in {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{path} is not valid TOML: {detail}")]
    Toml {
        /// The file.
        path: String,
        /// Description of the problem and of its position.
        detail: String,
    },
}

/// The layers of the settings with their values.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    flags: BTreeMap<&'static str, String>,
    variables: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    file_name: String,
    defaults: BTreeMap<&'static str, String>,
}

/// The variable of a setting.
fn variable(name: &str) -> String {
    format!("ASSAY_{}", name.to_ascii_uppercase().replace('-', "_"))
}

impl Layers {
    /// Adds a flag, if it was given.
    pub fn flag(&mut self, name: &'static str, value: Option<String>) {
        self.flags.extend(value.map(|value| (name, value)));
    }

    /// Adds the environment; variables that name no setting are ignored.
    pub fn environment(&mut self, variables: impl Iterator<Item = (String, String)>) {
        let ours: Vec<String> =
            DEFINITIONS.iter().map(|definition| variable(definition.name)).collect();
        self.variables.extend(variables.filter(|(name, _)| ours.contains(name)));
    }

    /// Adds the text of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not valid TOML.
    pub fn file(&mut self, name: &str, text: &str) -> Result<(), SettingsFileError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            SettingsFileError::Toml { path: name.to_owned(), detail: error.to_string() }
        })?;
        name.clone_into(&mut self.file_name);
        self.file.extend(table.into_iter().map(|(key, value)| {
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Array(items) => {
                    let texts = items.iter().map(|item| item.as_str().unwrap_or_default());
                    texts.collect::<Vec<_>>().join(",")
                }
                other => other.to_string(),
            };
            (key, text)
        }));
        Ok(())
    }

    /// Replaces the default of a setting.
    pub fn default_of(&mut self, name: &'static str, value: &str) {
        self.defaults.insert(name, value.to_owned());
    }

    /// Unknown keys of the file.
    pub(super) fn unknown(&self) -> Vec<SettingProblem> {
        let known = |key: &str| DEFINITIONS.iter().any(|definition| definition.name == key);
        let unknown = self.file.keys().filter(|key| !known(key)).map(|key| SettingProblem {
            origin: SettingOrigin::File { file: self.file_name.clone(), key: key.clone() },
            message: "there is no such setting".into(),
        });
        unknown.collect()
    }

    /// A setting's text and its origin.
    pub(super) fn find(&self, name: &'static str) -> (String, SettingOrigin) {
        let variable = variable(name);
        if let Some(value) = self.flags.get(name) {
            return (value.clone(), SettingOrigin::Flag(name));
        }
        if let Some(value) = self.variables.get(&variable) {
            return (value.clone(), SettingOrigin::Variable(variable));
        }
        if let Some(value) = self.file.get(name) {
            let origin = SettingOrigin::File { file: self.file_name.clone(), key: name.into() };
            return (value.clone(), origin);
        }
        let built_in = DEFINITIONS.iter().find(|definition| definition.name == name);
        let value = match (self.defaults.get(name), built_in) {
            (Some(value), _) => value.clone(),
            (None, Some(definition)) => definition.default.to_owned(),
            (None, None) => String::new(),
        };
        (value, SettingOrigin::Default(name))
    }

    pub(super) fn origin(&self, name: &'static str) -> SettingOrigin {
        self.find(name).1
    }
}

/// The text of a settings file.
///
/// # Errors
///
/// Returns an error if the file cannot be read.
pub fn read_file(path: &Path) -> Result<String, SettingsFileError> {
    fs::read_to_string(path)
        .map_err(|source| SettingsFileError::Io { path: path.display().to_string(), source })
}
