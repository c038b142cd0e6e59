//! Making a running API what it is to be, in an order in which it never stops serving.

use k8s_openapi::api::{
    apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler, batch::v1::CronJob,
};
use kube::{Client, api::DynamicObject};

use super::{
    Context, ServiceError,
    build::{Migration, Plan, migration},
    fetch::Fetched,
};
use crate::{
    owned::{OwnedKind, OwnedObject},
    writer::WriteError,
};

/// What there is, as the API server answered.
#[derive(Debug)]
pub(super) struct Applied {
    /// How far the migration is.
    pub(super) migration: Migration,
    /// The Deployment, where there is one.
    pub(super) deployment: Option<Deployment>,
    /// What forgets what is older than it is kept, where there is one.
    pub(super) purge: Option<CronJob>,
    /// What decides how many replicas there are.
    pub(super) autoscaler: Option<HorizontalPodAutoscaler>,
    /// Whether the cluster knows no Gateways, where a way in through one is wanted.
    pub(super) lacks_gateways: bool,
    /// Whether anything was written.
    pub(super) is_change: bool,
}

/// What is applied one after the other.
struct Applier<'a> {
    fetched: &'a Fetched,
    context: &'a Context,
    is_change: bool,
}

impl Applier<'_> {
    fn client(&self) -> &Client {
        &self.context.client.0
    }

    async fn apply(&mut self, owned: &OwnedObject) -> Result<DynamicObject, WriteError> {
        let live = self.fetched.live.get(&owned.kind);
        let namespace = &self.fetched.parent.namespace;
        let applied = owned.apply(self.client(), &self.context.writer, namespace, live).await;
        let (object, is_change) = applied?;
        self.is_change |= is_change;
        Ok(object)
    }

    async fn remove(&mut self, kind: OwnedKind) -> Result<(), WriteError> {
        let Some(live) = self.fetched.live.get(&kind) else { return Ok(()) };
        if !self.fetched.parent.owns(live) {
            return Ok(());
        }
        let api = kind.api(self.client(), &self.fetched.parent.namespace);
        self.context.writer.delete(kind.written(), &api, live).await?;
        self.is_change = true;
        Ok(())
    }
}

pub(super) async fn apply(
    fetched: &Fetched,
    plan: Plan,
    context: &Context,
) -> Result<Applied, ServiceError> {
    let mut applier = Applier { fetched, context, is_change: false };
    let mut lacks_gateways = false;
    let mut autoscaler = None;
    for owned in &plan.common {
        match applier.apply(owned).await {
            Err(error) if owned.kind == OwnedKind::HttpRoute && error.is_not_found() => {
                lacks_gateways = true;
            }
            done if owned.kind == OwnedKind::HorizontalPodAutoscaler => autoscaler = Some(done?),
            done => drop(done?),
        }
    }
    for kind in plan.unwanted {
        applier.remove(kind).await?;
    }
    let before = fetched.live.get(&OwnedKind::Deployment);
    let job = fetched.live.get(&OwnedKind::Job);
    let mut migration = migration(&plan.migration.name, before, job);
    if migration == Migration::Due {
        applier.apply(&plan.migration).await?;
        migration = Migration::Running;
    }
    let mut deployment = before.cloned();
    let mut purge = fetched.live.get(&OwnedKind::CronJob).cloned();
    // Until the database is ready for it, what serves is left as it is.
    if migration == Migration::Done {
        for owned in &plan.server {
            let object = applier.apply(owned).await?;
            match owned.kind {
                OwnedKind::Deployment => deployment = Some(object),
                OwnedKind::CronJob => purge = Some(object),
                _ => {}
            }
        }
    }
    let deployment = deployment.and_then(|deployment| deployment.try_parse().ok());
    let purge = purge.and_then(|purge| purge.try_parse().ok());
    let autoscaler = autoscaler.and_then(|autoscaler| autoscaler.try_parse().ok());
    let is_change = applier.is_change;
    Ok(Applied { migration, deployment, purge, autoscaler, lacks_gateways, is_change })
}
