//! What is known of a running API: the object, its Secrets, what there is of it already.

use std::collections::{BTreeMap, BTreeSet};

use assay_crds::{RiskService, SecretKey};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
use kube::{Api, Resource, ResourceExt, api::DynamicObject};

use super::{Context, ServiceError, build, demand::Demand};
use crate::{
    owned::{OwnedKind, Owner},
    ports,
};

/// What is known of a running API.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) object: RiskService,
    pub(super) parent: Owner,
    /// The Secret with the database's URL.
    pub(super) database: Held,
    /// The one with the cache's, where one is named.
    pub(super) cache: Option<Held>,
    /// What there is under the names that its objects have.
    pub(super) live: BTreeMap<OwnedKind, DynamicObject>,
    /// What tenants ask for; `None` until that is known.
    pub(super) demand: Option<Demand>,
}

/// What is known of a key of a Secret. What it holds is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// It is there: which Secret that is, and the ports of the URL in it.
    There { uid: String, ports: BTreeSet<u16> },
    /// There is no such Secret.
    NoSecret,
    /// The Secret has no such key.
    NoKey,
}

impl Fetched {
    /// The Deployment, where there is one of its own.
    pub(super) fn deployment(&self) -> Option<Deployment> {
        let live = self.live.get(&OwnedKind::Deployment)?;
        live.clone().try_parse().ok().filter(|_| self.parent.owns(live))
    }

    /// The name, which its objects have too.
    pub(super) fn name(&self) -> String {
        self.object.name_any()
    }
}

pub(super) async fn fetch(
    object: &RiskService,
    context: &Context,
) -> Result<Fetched, ServiceError> {
    let namespace = object.namespace().unwrap_or_default();
    let name = object.name_any();
    // It has a name and an identity: it came from the server.
    let reference = object.controller_owner_ref(&()).unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(context.client.0.clone(), &namespace);
    let cache = match &object.spec.cache_secret {
        Some(key) => Some(held(&secrets, key).await?),
        None => None,
    };
    let mut fetched = Fetched {
        object: object.clone(),
        parent: Owner::new(reference, &namespace, &name, build::SERVER),
        database: held(&secrets, &object.spec.database_secret).await?,
        cache,
        live: BTreeMap::new(),
        demand: context.demand.borrow().clone(),
    };
    for (kind, name) in build::places(&fetched) {
        if let Some(live) = kind.get(&context.client.0, &namespace, &name).await? {
            fetched.live.insert(kind, live);
        }
    }
    Ok(fetched)
}

async fn held(secrets: &Api<Secret>, key: &SecretKey) -> Result<Held, ServiceError> {
    let Some(secret) = secrets.get_opt(key.name.as_str()).await? else { return Ok(Held::NoSecret) };
    let value = secret.data.as_ref().and_then(|data| data.get(&key.key));
    Ok(value.map_or(Held::NoKey, |value| Held::There {
        uid: secret.uid().unwrap_or_default(),
        ports: ports::of_url(&String::from_utf8_lossy(&value.0)),
    }))
}
