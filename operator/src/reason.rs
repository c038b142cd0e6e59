//! The reasons of conditions, events and metrics: a closed set.

use assay_manifests::ManifestRefusal;
use assay_tenancy::Cause;

/// Declares the reasons, each with its name in conditions, events and metrics.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The reason of a condition, an event or a failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ConditionReason {
            $($(#[$doc])* $name,)*
        }

        impl ConditionReason {
            /// The name in conditions, events and metrics.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

reasons! {
    /// The spec is in force.
    Published,
    /// The source was never fetched.
    NeverFetched,
    /// The source was fetched on its schedule.
    Fetched,
    /// The data of the source is older than its schedule, or than the chain, allows.
    Stale,
    /// The chain servers are reading earlier blocks.
    Syncing,
    /// Servers read the source during checks.
    ReadOnDemand,
    /// The key is active and in its Secret.
    KeyReady,
    /// The plan that the spec names is not in force.
    PlanNotFound,
    /// The risk policy that the spec names is not in force.
    PolicyNotFound,
    /// The tenant that the spec names is not in force.
    TenantNotFound,
    /// The plan has no limit of that name.
    LimitNotFound,
    /// A number exceeds the ceiling of the plan.
    AboveCeiling,
    /// Two limits contradict each other: one limit can never be reached, or both limit the same requests.
    LimitsContradict,
    /// A field has a value that is not allowed.
    Invalid,
    /// The name is not 1 to 63 lowercase letters, digits and hyphens.
    InvalidName,
    /// The change would make objects in force invalid that depend on this object.
    BreaksDependents,
    /// The object was deleted, but objects in force depend on it.
    InUse,
    /// The manifests in the store are invalid, so that no manifest can be added to the store.
    StoreInconsistent,
    /// The tenant does not list the namespace of the key.
    NamespaceNotAllowed,
    /// The operator watches every namespace that the tenant lists.
    NamespacesWatched,
    /// The operator does not watch a namespace that the tenant lists.
    NamespaceNotWatched,
    /// No other tenant lists a namespace of the tenant.
    NamespacesExclusive,
    /// Another tenant lists a namespace of the tenant.
    NamespaceShared,
    /// The policy is not weaker than Assay's defaults.
    DefaultsKept,
    /// The policy switches rules off, or weighs grave categories less than Assay's defaults.
    DefaultsWeakened,
    /// A source provides each mandatory list and label set of the policy.
    SourcesKnown,
    /// No source provides a mandatory list or label set of the policy.
    SourceUnknown,
    /// A Secret of that name exists that the operator did not create.
    SecretNotManaged,
    /// The key in the Secret belongs to another object.
    KeyTaken,
    /// The key has expired.
    Expired,
    /// Every replica runs the image and is available.
    ServiceReady,
    /// Replicas are being started or replaced.
    RollingOut,
    /// Replicas with the image do not become ready.
    RolloutFailed,
    /// The database schema is being migrated for the image.
    Migrating,
    /// The migration of the database schema failed.
    MigrationFailed,
    /// A Secret that the spec names, or the key in it, does not exist.
    SecretNotFound,
    /// An object of a required name exists that the operator did not create for this owner.
    NameTaken,
    /// The cluster lacks the Gateway API, which the spec needs.
    GatewayApiMissing,
    /// `maxReplicas` covers the replicas that tenants' limits require.
    EnoughReplicas,
    /// `maxReplicas` is smaller than the replicas that tenants' limits require.
    TooFewReplicas,
    /// The autoscaler has all its metrics.
    MetricsAvailable,
    /// The autoscaler lacks metrics.
    MetricsUnavailable,
    /// The daily purge of expired records succeeded.
    PurgeSucceeded,
    /// The last purge of expired records failed.
    PurgeFailed,
    /// The workload of a source runs, and its last run succeeded.
    WorkloadReady,
    /// The workload of a source does not run, or its last run failed.
    WorkloadNotReady,
    /// Every chain server is ready.
    ServersReady,
    /// Some chain servers are ready, and answer for all chain servers.
    SomeServersReady,
    /// No chain server is ready.
    NoServerReady,
    /// The volume of a chain server could not grow to the size in the spec.
    VolumeNotResized,
    /// Following the chain is suspended; chain servers answer from the blocks that they have.
    FollowingSuspended,
    /// All chain servers have the blocks of the same branch.
    OneBranch,
    /// Chain servers have blocks of different branches; the majority answers.
    BranchesDiffer,
    /// Chain servers have blocks of different branches, of which none has a majority: none answers.
    NoMajority,
    /// A chain server stays on a branch that is not the branch of its source.
    SourceBranchRefused,
    /// All chain servers can read their graphs.
    GraphsReadable,
    /// A chain server cannot read its graph: pages are damaged, or the disk fails.
    GraphUnreadable,
    /// The chain servers follow their source.
    Followed,
    /// The chain servers follow their source, which does not state transfers inside of transactions.
    FollowedWithoutTraces,
    /// The source of a chain server does not answer.
    EndpointUnreachable,
    /// The source of a chain server serves another chain, or a test network.
    WrongNetwork,
    /// The source of a chain server refuses the credentials, or they must not be sent to it.
    CredentialsRefused,
    /// The source of a chain server has fewer blocks than the chain server.
    SourceBehind,
    /// The source of a chain server lacks the next blocks, which it had once.
    SourcePruned,
    /// Statements of the source of a chain server are invalid, or the server cannot record them.
    SourceFailed,
    /// No chain server answers: the condition is unknown.
    ServersSilent,
    /// The servers know the chain servers of every followed chain.
    ChainServersKnown,
    /// The spec names no token for chain servers, and there are followed chains.
    ChainTokenMissing,
    /// The operator has no settings for workloads.
    WorkloadsDisabled,
    /// The source needs no workload: the source is suspended, or servers read it themselves.
    NothingToRun,
    /// The Secret with the credentials of a source lacks the label for sources, or does not name the source's server.
    CredentialsNotAllowed,
    /// The database cannot be reached or refuses the request.
    StoreUnavailable,
    /// The API server cannot be reached or refuses the request.
    ApiServerUnavailable,
}

impl ConditionReason {
    /// The reason of a refused object. `is_deleted`: the refused change is the object's deletion.
    #[must_use]
    pub(crate) const fn from_refusal(refusal: &ManifestRefusal, is_deleted: bool) -> Self {
        match refusal {
            ManifestRefusal::BreaksDependent { .. } if is_deleted => Self::InUse,
            ManifestRefusal::BreaksDependent { .. } => Self::BreaksDependents,
            ManifestRefusal::Invalid(problem) => match problem.cause {
                Cause::InvalidValue => Self::Invalid,
                Cause::PlanNotFound => Self::PlanNotFound,
                Cause::PolicyNotFound => Self::PolicyNotFound,
                Cause::TenantNotFound => Self::TenantNotFound,
                Cause::LimitNotFound => Self::LimitNotFound,
                Cause::AboveCeiling => Self::AboveCeiling,
                Cause::LimitsContradict => Self::LimitsContradict,
            },
        }
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use std::sync::Arc;

    use assay_manifests::{DesiredManifests, Manifest, Manifests, reconcile};
    use assay_tenancy::manifest::Kind;
    use serde_json::{Value, json};

    use super::*;

    fn plan(limits: Value) -> Value {
        json!({"displayName": "Gold", "apiAccess": true, "limits": limits})
    }

    fn daily(ceiling: u64) -> Value {
        json!([{
            "name": "daily", "requests": 10, "window": "1d", "counts": "checks",
            "ceiling": ceiling,
        }])
    }

    fn tenant(plan: &str, policy: &str) -> Value {
        json!({"displayName": "Acme", "plan": plan, "policy": policy})
    }

    fn rate_limit(target: Value, limits: Value) -> Value {
        json!({"target": target, "limits": limits})
    }

    /// The reason of a refused change of `stored`. Without a spec the object is deleted.
    fn reason(
        stored: &[(Kind, &str, Value)],
        (kind, name): (Kind, &str),
        spec: Option<Value>,
    ) -> ConditionReason {
        let manifest = |kind, name: &str, spec: &Value| {
            let name = name.parse().unwrap();
            Arc::new(Manifest::parse_spec("a test".into(), kind, name, spec))
        };
        let stored = stored.iter().map(|(kind, name, spec)| manifest(*kind, name, spec));
        let stored: Manifests = stored.map(|manifest| (manifest.key(), manifest)).collect();
        let is_deleted = spec.is_none();
        let key = (kind, name.parse().unwrap());
        let spec = spec.map(|spec| manifest(kind, name, &spec));
        let desired = DesiredManifests::from([(key.clone(), spec)]);
        let reconciled = reconcile(&stored, &desired).unwrap();
        ConditionReason::from_refusal(&reconciled.refused[&key], is_deleted)
    }

    fn stored() -> Vec<(Kind, &'static str, Value)> {
        vec![
            (Kind::Plan, "gold", plan(daily(100))),
            (Kind::RiskPolicy, "default", json!({})),
            (Kind::Tenant, "acme", tenant("gold", "default")),
        ]
    }

    #[test]
    fn each_cause_of_a_problem_has_its_reason() {
        let gold = || json!({"plan": "gold"});
        let one = |name: &str, requests: u64| json!([{"name": name, "requests": requests}]);
        let twice = json!([{"name": "daily", "requests": 20}, {"name": "daily", "requests": 30}]);
        let same = ["a", "b"]
            .map(|name| json!({"name": name, "requests": 5, "window": "1d", "counts": "checks"}));
        for (kind, spec, expected) in [
            (Kind::Tenant, tenant("silver", "default"), ConditionReason::PlanNotFound),
            (Kind::Tenant, tenant("gold", "strict"), ConditionReason::PolicyNotFound),
            (Kind::Tenant, tenant("no name", "default"), ConditionReason::Invalid),
            (
                Kind::RateLimit,
                rate_limit(json!({"plan": "silver"}), one("daily", 20)),
                ConditionReason::PlanNotFound,
            ),
            (
                Kind::RateLimit,
                rate_limit(json!({"tenant": "other"}), one("daily", 20)),
                ConditionReason::TenantNotFound,
            ),
            (
                Kind::RateLimit,
                rate_limit(gold(), one("weekly", 20)),
                ConditionReason::LimitNotFound,
            ),
            (Kind::RateLimit, rate_limit(gold(), one("daily", 101)), ConditionReason::AboveCeiling),
            (Kind::RateLimit, rate_limit(gold(), one("daily", 0)), ConditionReason::Invalid),
            (Kind::RateLimit, rate_limit(gold(), twice), ConditionReason::LimitsContradict),
            (Kind::Plan, plan(json!(same)), ConditionReason::LimitsContradict),
            (Kind::Plan, plan(json!([])), ConditionReason::Invalid),
            (Kind::RiskPolicy, json!({"trace": {"hops": 0}}), ConditionReason::Invalid),
        ] {
            let found = reason(&stored(), (kind, "new"), Some(spec.clone()));
            assert_eq!(found, expected, "{} {spec}", kind.as_str());
        }
    }

    #[test]
    fn a_change_that_breaks_dependents_has_a_reason_of_its_own() {
        let gold = (Kind::Plan, "gold");
        assert_eq!(reason(&stored(), gold, None), ConditionReason::InUse);
        let raised = json!([{"name": "daily", "requests": 50}]);
        let mut raised =
            vec![(Kind::RateLimit, "more", rate_limit(json!({"plan": "gold"}), raised))];
        raised.extend(stored());
        assert_eq!(reason(&raised, gold, Some(plan(daily(20)))), ConditionReason::BreaksDependents);
    }
}
