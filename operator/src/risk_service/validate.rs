//! Whether an API can be run, and what a person would have to do.

use std::collections::BTreeSet;

use assay_crds::SecretKey;

use super::{
    build,
    fetch::{Fetched, Held},
};
use crate::{conditions::ReadyState, reason::Reason};

/// Longest name: those of its objects are longer, and a label holds 63 characters.
const LONGEST_NAME: usize = 40;

/// What is known of an API that can be run.
#[derive(Debug)]
pub(super) struct Valid<'a> {
    pub(super) fetched: &'a Fetched,
    /// Ports of the database and the cache.
    pub(super) ports: BTreeSet<u16>,
    /// Which Secret holds the database's URL.
    pub(super) database_uid: &'a str,
}

pub(super) fn validate(fetched: &Fetched) -> Result<Valid<'_>, ReadyState> {
    let name = fetched.name();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if name.len() > LONGEST_NAME || !starts_well || !name.bytes().all(plain) {
        let message = format!(
            "its Service has the same name, so that `{name}` may have up to {LONGEST_NAME} lowercase \
             letters, digits and hyphens, a letter first: make another RiskService"
        );
        return Err(ReadyState::Stalled(Reason::Invalid, message));
    }
    let spec = &fetched.object.spec;
    let (database_uid, mut ports) = held(&fetched.database, &spec.database_secret)?;
    if let (Some(cache), Some(key)) = (&fetched.cache, &spec.cache_secret) {
        ports.extend(held(cache, key)?.1);
    }
    let mut others = fetched.live.iter().filter(|(_, live)| !fetched.parent.owns(live));
    if let Some((kind, _)) = others.find(|(kind, _)| build::wants(**kind, spec)) {
        let message = format!(
            "a {} `{name}` is there that the operator did not make for it: delete that, or make another \
             RiskService",
            kind.resource().kind
        );
        return Err(ReadyState::Stalled(Reason::NameTaken, message));
    }
    Ok(Valid { fetched, ports, database_uid })
}

fn held<'a>(held: &'a Held, key: &SecretKey) -> Result<(&'a str, BTreeSet<u16>), ReadyState> {
    let message = match held {
        Held::There { uid, ports } => return Ok((uid, ports.clone())),
        // It may come at any moment, from whoever keeps Secrets.
        Held::NoSecret => format!("there is no Secret `{}`", key.name),
        Held::NoKey => format!("the Secret `{}` has no key `{}`", key.name, key.key),
    };
    Err(ReadyState::Waiting(Reason::SecretNotFound, message))
}
