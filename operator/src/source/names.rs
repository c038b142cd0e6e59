//! The names of the objects of sources.

use super::CHAIN_SERVER;
use crate::{owned::digest, serving::API};

/// The longest name of a `CronJob`, and of a `StatefulSet`: Kubernetes appends 11 characters for the names of Jobs and
/// in a label of pods.
pub(super) const MAX_LENGTH: usize = 52;
/// The length of a digest with the hyphen before it.
const DIGEST_LENGTH: usize = 17;

/// The name of the objects of a source. A name that is too long is shortened and ends with a digest of the whole name.
pub(super) fn workload(component: &str, source: &str) -> String {
    let name = format!("{component}-{source}");
    if name.len() <= MAX_LENGTH {
        return name;
    }
    let short: String = name.chars().take(MAX_LENGTH - DIGEST_LENGTH).collect();
    format!("{short}-{}", digest(&[source]))
}

/// The URL of the chain servers of a source: their headless Service.
pub(crate) fn chain_servers_url(source: &str, namespace: &str) -> String {
    format!("http://{}.{namespace}.svc:{}", workload(CHAIN_SERVER, source), API.1)
}

/// The name of the Job that imports a list for the first time.
pub(super) fn first_job(workload: &str) -> String {
    format!("{workload}-first")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_servers_have_the_url_of_their_service() {
        let url = chain_servers_url("bitcoin", "assay");
        assert_eq!(url, "http://chain-bitcoin.assay.svc:8080");
    }

    #[test]
    fn long_names_are_shortened_and_stay_different() {
        let [one, two] =
            ["a", "b"].map(|end| workload("intel", &format!("{}{end}", "x".repeat(60))));
        assert_eq!((one.len(), two.len()), (MAX_LENGTH, MAX_LENGTH));
        assert_ne!(one, two);
    }
}
