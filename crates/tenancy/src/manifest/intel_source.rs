//! Intel sources: sanctions lists, label sets and prices that are fetched on a schedule.

use std::path::PathBuf;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    PodsSpec, SecretKey,
    intel_format::{IntelFormat, IntelFormatKind},
    secret_key::{CredentialsKey, credentials_key},
};
use crate::{Name, Period, WEB_URL_FORM, period::between, schema::field_rule};

/// Longest time for which a mandatory source may go unverified.
pub(crate) const LONGEST_AGE: Period = Period::from_seconds(90 * 86_400);

/// Reason why a source of prices cannot be mandatory.
pub(crate) const PRICES_NOT_MANDATORY: &str =
    "prices cannot be mandatory: an answer without a price states no value in US dollars";

/// A sanctions list, label set or file of prices that is fetched on a schedule. The name of the object is the name of
/// the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".location",
        "!self.location.contains('://') || self.location.matches('^https?://')",
        "only http and https URLs, and files, can be fetched",
    ),
    field_rule(
        ".location",
        "!self.location.matches('^https?://') || self.location.matches('^https?://[^/?#\\\\s]+\\\\S*$')",
        WEB_URL_FORM,
    ),
    field_rule(
        ".location",
        "!self.location.matches('^[a-z]+://[^/?#]*@')",
        "must not hold a password: put `user:password` or a token in a file and name it in credentialsFile",
    ),
    field_rule(
        ".credentialsSecret",
        "!has(self.credentialsSecret) || !has(self.credentialsFile)",
        "the credentials are in credentialsFile already: leave one of them out",
    ),
    field_rule(
        ".schedule",
        "self.schedule.matches('^\\\\s*(\\\\S+\\\\s+){4}\\\\S+\\\\s*$')",
        "write the five fields of a crontab line, such as 17 */6 * * *",
    ),
    field_rule(
        ".acceptDigest",
        "!has(self.acceptDigest) || self.acceptDigest.matches('^[0-9A-Fa-f]{64}$')",
        "a SHA-256 digest has 64 hexadecimal digits",
    ),
    field_rule(
        ".lists",
        &format!(
            "!self.mandatory || size(self.lists) > 0 || self.format in [{}]",
            IntelFormat::quoted(&[IntelFormatKind::Labels, IntelFormatKind::Prices])
        ),
        "name the lists that are mandatory, such as `ofac-sdn`: a demand is met by the list itself",
    ),
    field_rule(
        ".mandatory",
        &format!(
            "!self.mandatory || !(self.format in [{}])",
            IntelFormat::quoted(&[IntelFormatKind::Prices])
        ),
        PRICES_NOT_MANDATORY,
    ),
    between("maximumAge", Period::from_seconds(3600), LONGEST_AGE),
]))]
pub struct IntelSourceSpec {
    /// URL (http or https), or path, of the file to fetch, without credentials. A server reads files below its
    /// `source-dir` only.
    #[schemars(length(min = 1, max = 2048))]
    pub location: String,
    /// Path of a file with the credentials for the server of the URL: `user:password` or a token in one line. The
    /// file lies below the `source-dir` of the machine, or one of its `credentials-dirs`. Default: none.
    #[schemars(length(max = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
    /// Key of a Secret that holds `user:password` or a token, in the operator's namespace; instead of `credentialsFile`
    /// in a cluster. The Secret has the label `assay.dev/source-credentials: "true"`, and the annotation
    /// `assay.dev/source-hosts` with the `host:port` of the URL; otherwise the source is not fetched.
    #[serde(
        default,
        deserialize_with = "credentials_key",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<CredentialsKey>")]
    pub credentials_secret: Option<SecretKey>,
    /// Format of the file, which decides whether it holds a sanctions list, labels or prices.
    pub format: IntelFormat,
    /// Times of fetching, as the five fields of a crontab line in UTC, such as `17 */6 * * *`.
    #[schemars(length(max = 128))]
    pub schedule: String,
    /// Names of the sanctions lists in the file, such as `ofac-sdn`. Required if `mandatory` is true. Default: none.
    #[schemars(length(max = 64), with = "Vec<Name>", extend("x-kubernetes-list-type" = "set"))]
    #[serde(default)]
    pub lists: Vec<String>,
    /// Makes the lists, or the label set, mandatory for every risk policy: without them, or if they are older
    /// than `maximumAge`, the verdict `allow` becomes `indeterminate`. Default `false`.
    #[serde(default)]
    pub mandatory: bool,
    /// Longest time since the last successful fetch, such as `48h`, if `mandatory` is true: `1h` to `90d`. Default
    /// `48h`.
    #[serde(default = "default_maximum_age")]
    pub maximum_age: Period,
    /// SHA-256 digest, in hexadecimal, of a file to accept although it failed the plausibility check. Default:
    /// none.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_digest: Option<String>,
    /// Suspends fetching; imported data stay. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Pods of the imports in a cluster.
    #[serde(default, skip_serializing_if = "PodsSpec::is_default")]
    pub pods: PodsSpec,
}

const fn default_maximum_age() -> Period {
    Period::from_seconds(48 * 3600)
}

/// Times at which a source is fetched.
#[derive(Clone, Debug)]
pub struct FetchSchedule(cronexpr::Crontab);

impl FetchSchedule {
    /// Reads a crontab line; times are UTC.
    ///
    /// # Errors
    ///
    /// Returns the reason why the text is no crontab line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |error: cronexpr::Error| {
            format!("`{text}` is no crontab line, such as `17 */6 * * *`: {error}")
        };
        if text.split_whitespace().count() != 5 {
            return Err(format!("`{text}` has not the five fields of a crontab line"));
        }
        // Not by the zone's name, which only a system with a database of zones knows: images have none.
        let mut options = cronexpr::ParseOptions::default();
        options.fallback_timezone_option = cronexpr::FallbackTimezoneOption::UTC;
        cronexpr::parse_crontab_with(text, options).map(Self).map_err(wrong)
    }

    /// The next scheduled time after `time`; `None` if there is none.
    #[must_use]
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        self.0.find_next(time).ok().map(|next| next.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_a_crontab_line_in_utc() {
        let schedule = FetchSchedule::parse("17 */6 * * *").unwrap();
        let next = |at: &str| schedule.next_after(at.parse().unwrap()).unwrap().to_string();
        assert_eq!(next("2026-11-21T13:00:00Z"), "2026-11-21T18:17:00Z");
        assert_eq!(next("2026-11-21T18:17:00Z"), "2026-11-22T00:17:00Z");
        for wrong in ["", "hourly", "99 * * * *", "* * * * * *", "17 */6 * * * Europe/Berlin"] {
            assert!(FetchSchedule::parse(wrong).is_err(), "{wrong}");
        }
    }
}
