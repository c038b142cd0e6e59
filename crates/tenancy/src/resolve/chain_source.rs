//! Validation of `ChainSource` manifests.

use std::{collections::BTreeMap, sync::Arc};

use super::{ManifestProblem, ValidManifest};
use crate::{
    directory::ChainFeed,
    manifest::{
        CLAIM_OF_TRANSFERS, ChainMode, ChainProtocol, ChainSourceSpec, EXPLORERS_ON_DEMAND,
        FILES_WITHOUT_BRANCHES, FILES_WITHOUT_CREDENTIALS, FIRST_OF_FILES, FOLDER_FORM,
        FOLLOWED_FILES, HISTORIES_ON_DEMAND, IN_CLAIM, LONGEST_FETCH_TIMEOUT, MOST_REPLICAS,
        SMALLEST_VOLUME, TRANSFERS_FOLDER, TRONGRID_OF_TRON,
    },
};

/// Form of the name of a `StorageClass` or a claim.
const NAME_FORM: &str =
    "use lowercase letters, digits, hyphens and dots, with a letter or digit first and last";

pub(super) fn check(
    source: &ValidManifest<'_, ChainSourceSpec>,
    chains: &mut BTreeMap<String, Arc<ChainFeed>>,
    problems: &mut Vec<ManifestProblem>,
) {
    let spec = source.spec;
    let before = problems.len();
    let mut require = |holds: bool, path: &str, message: String| {
        if !holds {
            problems.push(source.problem(path, message));
        }
    };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    require(
        spec.chain.split('-').all(|part| !part.is_empty() && part.bytes().all(plain)),
        "spec.chain",
        format!("`{}` is no chain's identifier, such as `btc`", spec.chain),
    );
    let is_of_files = spec.protocol == ChainProtocol::Transfers;
    require(
        is_of_files
            || spec.endpoint.starts_with("http://")
            || spec.endpoint.starts_with("https://"),
        "spec.endpoint",
        "must be an http or https URL".into(),
    );
    for (holds, path, message) in rules_of_files(spec) {
        require(holds || !is_of_files, path, message.to_owned());
    }
    require(
        spec.files_claim.is_none() || is_of_files,
        "spec.filesClaim",
        CLAIM_OF_TRANSFERS.to_owned(),
    );
    require(
        spec.files_claim.as_deref().is_none_or(is_subdomain),
        "spec.filesClaim",
        NAME_FORM.to_owned(),
    );
    require(
        !spec.endpoint.split_once("://").is_some_and(|(_, rest)| {
            rest.split('/').next().is_some_and(|authority| authority.contains('@'))
        }),
        "spec.endpoint",
        "must not hold a password: put `user:password` in a file and name it in credentialsFile"
            .into(),
    );
    require(
        !(spec.mode == ChainMode::OnDemand && spec.protocol == ChainProtocol::Rpc),
        "spec.protocol",
        HISTORIES_ON_DEMAND.to_owned(),
    );
    require(
        spec.mode == ChainMode::OnDemand || !spec.protocol.is_account_api(),
        "spec.mode",
        EXPLORERS_ON_DEMAND.to_owned(),
    );
    require(
        spec.protocol != ChainProtocol::TronGrid || spec.chain == "trx",
        "spec.chain",
        TRONGRID_OF_TRON.to_owned(),
    );
    require(
        is_of_files || !(spec.mode == ChainMode::OnDemand && spec.start_height > 0),
        "spec.startHeight",
        "histories fetched on demand begin with an address's first transaction".into(),
    );
    require(
        spec.credentials_secret.is_none() || spec.credentials_file.is_none(),
        "spec.credentialsSecret",
        "the credentials are in credentialsFile already: leave one of them out".into(),
    );
    require(
        spec.accept_branch.as_ref().is_none_or(|hash| {
            hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        }),
        "spec.acceptBranch",
        "the hash of a block has 64 hexadecimal digits".into(),
    );
    require(
        spec.fetch_timeout.seconds() > 0 && spec.fetch_timeout <= LONGEST_FETCH_TIMEOUT,
        "spec.fetchTimeout",
        format!("{} is not from 1s to 60s", spec.fetch_timeout),
    );
    for (holds, path, message) in rules_of_servers(spec) {
        require(holds, path, message);
    }
    super::pods::check(&spec.pods, source, problems);
    if let Some(other) = chains.get(&spec.chain) {
        let message = format!("{} is read by ChainSource {} already", spec.chain, other.name);
        problems.push(source.problem("spec.chain", message));
    }
    if problems.len() == before {
        let feed = ChainFeed { name: source.name.clone(), spec: spec.clone() };
        chains.insert(feed.spec.chain.clone(), Arc::new(feed));
    }
}

/// The rules of chain servers in a cluster: the condition, the field and the message.
fn rules_of_servers(spec: &ChainSourceSpec) -> [(bool, &'static str, String); 3] {
    [
        (
            (1..=MOST_REPLICAS).contains(&spec.replicas),
            "spec.replicas",
            format!("{} is not from 1 to {MOST_REPLICAS}", spec.replicas),
        ),
        (
            spec.volume.size.covers(SMALLEST_VOLUME),
            "spec.volume.size",
            format!("must be at least {SMALLEST_VOLUME}"),
        ),
        (
            spec.volume.storage_class.as_deref().is_none_or(is_subdomain),
            "spec.volume.storageClass",
            NAME_FORM.to_owned(),
        ),
    ]
}

/// The rules of a source whose blocks come from files of transfers: the condition, the field and the message.
fn rules_of_files(spec: &ChainSourceSpec) -> [(bool, &'static str, &'static str); 6] {
    let folder = spec.files_folder();
    let is_in_claim = folder.is_some_and(|folder| folder.starts_with(TRANSFERS_FOLDER));
    [
        (folder.is_some(), "spec.endpoint", FOLDER_FORM),
        (folder.is_none() || spec.files_claim.is_none() || is_in_claim, "spec.endpoint", IN_CLAIM),
        (spec.mode == ChainMode::Follow, "spec.mode", FOLLOWED_FILES),
        (spec.start_height == 0, "spec.startHeight", FIRST_OF_FILES),
        (
            spec.credentials_secret.is_none() && spec.credentials_file.is_none(),
            "spec.credentialsSecret",
            FILES_WITHOUT_CREDENTIALS,
        ),
        (spec.accept_branch.is_none(), "spec.acceptBranch", FILES_WITHOUT_BRANCHES),
    ]
}

/// True if a text is a valid name of a `StorageClass` or a claim: a DNS subdomain.
fn is_subdomain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= 253
        && bytes.iter().all(|byte| is_plain(*byte) || b"-.".contains(byte))
        && [bytes.first(), bytes.last()]
            .into_iter()
            .all(|byte| byte.is_some_and(|byte| is_plain(*byte)))
}
