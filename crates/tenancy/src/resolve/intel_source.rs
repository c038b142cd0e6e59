//! Validation of `IntelSource` manifests.

use super::{ManifestProblem, ValidManifest};
use crate::{
    directory::{Feed, RequiredSource},
    manifest::{
        FetchSchedule, IntelFormatKind, IntelSourceSpec, LONGEST_AGE, PRICES_NOT_MANDATORY,
    },
};

pub(super) fn check(
    source: &ValidManifest<'_, IntelSourceSpec>,
    problems: &mut Vec<ManifestProblem>,
) -> Option<Feed> {
    let spec = source.spec;
    let before = problems.len();
    let mut require = |holds: bool, path: &str, message: String| {
        if !holds {
            problems.push(source.problem(path, message));
        }
    };
    require(!spec.location.is_empty(), "spec.location", "must not be empty".into());
    require(
        !spec.location.contains("://")
            || spec.location.starts_with("https://")
            || spec.location.starts_with("http://"),
        "spec.location",
        "only http and https URLs, and files, can be fetched".into(),
    );
    let authority = spec.location.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    require(
        !authority.contains('@'),
        "spec.location",
        "must not hold a password: put `user:password` or a token in a file and name it in credentialsFile"
            .into(),
    );
    require(
        spec.credentials_secret.is_none() || spec.credentials_file.is_none(),
        "spec.credentialsSecret",
        "the credentials are in credentialsFile already: leave one of them out".into(),
    );
    require(
        spec.accept_digest.as_ref().is_none_or(|digest| {
            digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        }),
        "spec.acceptDigest",
        "a SHA-256 digest has 64 hexadecimal digits".into(),
    );
    require(
        spec.maximum_age.seconds() >= 3600 && spec.maximum_age <= LONGEST_AGE,
        "spec.maximumAge",
        format!("{} is not from 1h to 90d", spec.maximum_age),
    );
    require(
        !spec.mandatory || spec.format.kind() != IntelFormatKind::Prices,
        "spec.mandatory",
        PRICES_NOT_MANDATORY.into(),
    );
    require(
        !spec.mandatory
            || spec.format.kind() != IntelFormatKind::Listings
            || !spec.lists.is_empty(),
        "spec.lists",
        "name the lists that are mandatory, such as `ofac-sdn`: a demand is met by the list itself"
            .into(),
    );
    super::pods::check(&spec.pods, source, problems);
    let schedule = match FetchSchedule::parse(&spec.schedule) {
        Ok(schedule) => schedule,
        Err(message) => {
            problems.push(source.problem("spec.schedule", message));
            return None;
        }
    };
    (problems.len() == before).then(|| Feed {
        name: source.name.clone(),
        spec: spec.clone(),
        schedule,
    })
}

/// The mandatory lists and labels that a source adds to every risk policy.
pub(super) fn mandatory(feed: &Feed) -> Vec<RequiredSource> {
    let spec = &feed.spec;
    let names: Vec<String> = match (spec.mandatory, spec.format.kind()) {
        (false, _) | (true, IntelFormatKind::Prices) => Vec::new(),
        (true, IntelFormatKind::Labels) => vec![feed.name.to_string()],
        (true, IntelFormatKind::Listings) => spec.lists.clone(),
    };
    let hours = u32::try_from(spec.maximum_age.seconds().div_ceil(3600)).unwrap_or(u32::MAX);
    names.into_iter().map(|name| RequiredSource { name, maximum_age_hours: hours }).collect()
}
