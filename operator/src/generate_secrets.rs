//! `assay-operator generate-secrets`: fills in Secrets that the chart declares without their values, once.
//!
//! The random text of a Secret is created in the cluster and is never in a rendered manifest. A Secret that has its
//! random text keeps it: only keys that do not fit it are written.

use std::{collections::BTreeMap, io, process::ExitCode, time::Duration};

use assay_tenancy::Name;
use clap::{Args, Command, FromArgMatches};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::time::sleep;

use crate::run;

/// The name of the subcommand.
pub const NAME: &str = "generate-secrets";
/// The placeholder of the random text.
const RANDOM: &str = "{random}";
/// The field manager of the written keys.
const MANAGER: &str = "assay-generate-secrets";
/// The number of attempts to write a Secret that others change at the same time.
const ATTEMPTS: u32 = 5;
/// The delay between attempts.
const DELAY: Duration = Duration::from_secs(1);

/// Settings of `assay-operator generate-secrets`.
#[derive(Clone, Debug, Args)]
pub struct GenerateSecretsSettings {
    /// Namespace of the Secrets
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME")]
    pub namespace: String,
    /// Key of a Secret with its text, in which `{random}` stands for the random text of the Secret. One key of each
    /// Secret has the text `{random}` alone, and keeps the random text; repeatable
    #[arg(long, required = true, value_parser = secret_text, value_name = "SECRET/KEY=TEXT")]
    pub value: Vec<SecretText>,
}

/// The text of a key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretText {
    /// The Secret.
    pub secret: Name,
    /// The key in the Secret.
    pub key: String,
    /// The text with placeholders.
    pub text: String,
}

/// Error of the generation of Secrets.
#[derive(Debug, thiserror::Error)]
pub enum GenerateSecretsError {
    /// No key of a Secret keeps its random text.
    #[error(
        "no --value of the Secret `{0}` is `{RANDOM}` alone: one key has to keep the random text"
    )]
    NotKept(Name),
    /// The kept random text is not UTF-8.
    #[error(
        "the key `{key}` of the Secret `{secret}` is no text: delete the key, and a new text is generated"
    )]
    NotText {
        /// The Secret.
        secret: Name,
        /// The key in the Secret.
        key: String,
    },
    /// The asynchronous runtime does not start.
    #[error("failed to start: {0}")]
    Runtime(#[source] io::Error),
    /// The API server cannot be found.
    #[error("found no kubeconfig or service account for the API server: {0}")]
    Config(#[source] kube::Error),
    /// The API server refuses a request, or does not answer.
    #[error("failed to read or write the Secret `{secret}`: {error}")]
    Request {
        /// The Secret.
        secret: Name,
        /// The error of the request.
        #[source]
        error: kube::Error,
    },
}

/// The subcommand, for help and arguments.
#[must_use]
pub fn command() -> Command {
    let command = Command::new(NAME).about(
        "Fills in Secrets that exist without their values, with a random text for each Secret",
    );
    GenerateSecretsSettings::augment_args(command)
}

/// Fills in the Secrets, and logs which keys were written.
#[must_use]
pub fn main(matches: &clap::ArgMatches) -> ExitCode {
    let settings = match GenerateSecretsSettings::from_arg_matches(matches) {
        Ok(settings) => settings,
        Err(error) => error.exit(),
    };
    // It fails only if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    run::log(false, None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(generate(&settings)),
        Err(error) => Err(GenerateSecretsError::Runtime(error)),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "failed to generate the Secrets");
            ExitCode::FAILURE
        }
    }
}

/// Fills in each Secret.
async fn generate(settings: &GenerateSecretsSettings) -> Result<(), GenerateSecretsError> {
    let client = Client::try_default().await.map_err(GenerateSecretsError::Config)?;
    let secrets = Api::<Secret>::namespaced(client, &settings.namespace);
    let mut by_secret: BTreeMap<&Name, Vec<&SecretText>> = BTreeMap::new();
    for value in &settings.value {
        by_secret.entry(&value.secret).or_default().push(value);
    }
    for (name, values) in by_secret {
        fill_in(&secrets, name, &values).await?;
    }
    Ok(())
}

/// Fills in a Secret, and begins anew if another one changed it meanwhile.
async fn fill_in(
    secrets: &Api<Secret>,
    name: &Name,
    values: &[&SecretText],
) -> Result<(), GenerateSecretsError> {
    let failed = |error| GenerateSecretsError::Request { secret: name.clone(), error };
    let mut attempts = 0;
    loop {
        let secret = secrets.get(name.as_str()).await.map_err(failed)?;
        let random = random_text([(); 2].map(|()| assay_system::random_u128()));
        let changes = changes(secret.data.as_ref(), name, values, &random)?;
        if changes.is_empty() {
            tracing::info!(secret = %name, "the Secret has its values");
            return Ok(());
        }
        let keys = changes.keys().cloned().collect::<Vec<_>>().join(", ");
        let patch = json!({
            "metadata": {"resourceVersion": secret.resource_version()},
            "stringData": changes,
        });
        let parameters =
            PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let written = secrets.patch(name.as_str(), &parameters, &Patch::Merge(patch)).await;
        match written {
            Ok(_) => {
                tracing::info!(secret = %name, keys, "the Secret was filled in");
                return Ok(());
            }
            Err(kube::Error::Api(status)) if status.is_conflict() && attempts < ATTEMPTS => {
                attempts += 1;
                sleep(DELAY).await;
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The keys of a Secret to write, with their texts: those that are absent or do not fit its random text. The random
/// text is the one that the Secret has, else `random`.
fn changes(
    data: Option<&BTreeMap<String, ByteString>>,
    name: &Name,
    values: &[&SecretText],
    random: &str,
) -> Result<BTreeMap<String, String>, GenerateSecretsError> {
    let not_kept = || GenerateSecretsError::NotKept(name.clone());
    let keeper = values.iter().find(|value| value.text == RANDOM).ok_or_else(not_kept)?;
    let live = |key: &str| data.and_then(|data| data.get(key)).map(|ByteString(bytes)| &**bytes);
    let kept = live(&keeper.key).filter(|bytes| !bytes.is_empty()).map(std::str::from_utf8);
    let kept = kept.transpose().map_err(|_| GenerateSecretsError::NotText {
        secret: name.clone(),
        key: keeper.key.clone(),
    })?;
    let random = kept.unwrap_or(random);
    let wanted = values.iter().map(|value| (&value.key, value.text.replace(RANDOM, random)));
    let changed = wanted.filter(|(key, text)| live(key) != Some(text.as_bytes()));
    Ok(changed.map(|(key, text)| (key.clone(), text)).collect())
}

/// A random text of 64 letters and digits, which URLs and settings need not escape.
fn random_text(numbers: [u128; 2]) -> String {
    numbers.map(|number| format!("{number:032x}")).concat()
}

/// Parses `SECRET/KEY=TEXT`.
fn secret_text(argument: &str) -> Result<SecretText, String> {
    let parse = || {
        let (path, text) = argument.split_once('=')?;
        let (secret, key) = path.split_once('/').filter(|(_, key)| !key.is_empty())?;
        let secret = secret.parse().ok()?;
        Some(SecretText { secret, key: key.to_owned(), text: text.to_owned() })
    };
    parse().ok_or_else(|| {
        format!("`{argument}` is not SECRET/KEY=TEXT, such as chains/token={RANDOM}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<SecretText> {
        ["store/password={random}", "store/url=postgres://me:{random}@host/db"]
            .map(|text| secret_text(text).unwrap())
            .into()
    }

    fn changed(data: &[(&str, &str)]) -> Result<BTreeMap<String, String>, GenerateSecretsError> {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), bytes(text))).collect();
        let values = values();
        changes(Some(&data), &"store".parse().unwrap(), &values.iter().collect::<Vec<_>>(), "new")
    }

    #[test]
    fn a_random_text_is_created_once_and_other_keys_follow_it() {
        let all = changed(&[]).unwrap();
        assert_eq!(all["password"], "new");
        assert_eq!(all["url"], "postgres://me:new@host/db");
        assert!(
            changed(&[("password", "old"), ("url", "postgres://me:old@host/db")])
                .unwrap()
                .is_empty()
        );
        let one =
            changed(&[("password", "old"), ("url", "postgres://me:old@elsewhere/db")]).unwrap();
        assert_eq!(
            one.into_iter().collect::<Vec<_>>(),
            [("url".to_owned(), "postgres://me:old@host/db".to_owned())]
        );
        let others = changed(&[("url", "x")]).unwrap();
        assert_eq!(others["password"], "new", "a Secret without its random text gets one");
    }

    #[test]
    fn values_that_cannot_be_kept_are_refused() {
        let url = secret_text("store/url=http://{random}").unwrap();
        let error = changes(None, &"store".parse().unwrap(), &[&url], "new").unwrap_err();
        assert!(error.to_string().contains("one key has to keep the random text"), "{error}");
        for wrong in ["store", "store/=a", "store=a", "Store/key=a", "/key=a"] {
            let said = secret_text(wrong).unwrap_err();
            assert!(said.contains("is not SECRET/KEY=TEXT"), "{said}");
        }
        let data = BTreeMap::from([("password".to_owned(), ByteString(vec![255]))]);
        let values = values();
        let values: Vec<_> = values.iter().collect();
        let error = changes(Some(&data), &"store".parse().unwrap(), &values, "new").unwrap_err();
        assert!(error.to_string().contains("the key `password`"), "{error}");
    }

    #[test]
    fn random_texts_have_64_letters_and_digits() {
        let text = random_text([1, u128::MAX]);
        assert_eq!(text.len(), 64);
        assert!(text.starts_with("0000") && text.ends_with("ffff"), "{text}");
    }
}
