//! Why something is as it is: a closed set of words, for conditions, events and metrics.

use assay_manifests::Refusal;
use assay_tenancy::Cause;

/// Declares the reasons, each with the word that people and alerts see.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Why something is as it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The word.
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
    /// What the object says is in force.
    Published,
    /// The key is in its Secret and good.
    KeyReady,
    /// The plan that is named is not in force.
    PlanNotFound,
    /// The risk policy that is named is not in force.
    PolicyNotFound,
    /// The tenant that is named is not in force.
    TenantNotFound,
    /// The plan has no limit of that name.
    LimitNotFound,
    /// A number is above what the plan allows.
    AboveCeiling,
    /// Limits of which one can never be reached, or two for the same.
    LimitsContradict,
    /// A field has a value that is not allowed.
    Invalid,
    /// The name is longer than names of Assay may be, or has other characters.
    InvalidName,
    /// It would make wrong what is in force.
    BreaksOthers,
    /// It is to go, but something in force needs it.
    InUse,
    /// What the store holds is wrong by itself, so that nothing can be added to it.
    StoreInconsistent,
    /// The tenant does not list the namespace.
    NamespaceNotAllowed,
    /// There is a Secret of that name which the operator did not make.
    SecretNotOurs,
    /// The key in the Secret is another object's.
    KeyTaken,
    /// Its time is over.
    Expired,
    /// Every replica runs the image and answers.
    ServiceReady,
    /// Replicas are being replaced or begin to run.
    RollingOut,
    /// The image does not come up.
    RolloutFailed,
    /// The database is made ready for the image.
    Migrating,
    /// The database could not be made ready for the image.
    MigrationFailed,
    /// A Secret that is named, or the key in it, is not there.
    SecretNotFound,
    /// An object of that name is there which the operator did not make for this.
    NameTaken,
    /// The cluster does not know the kind of a route.
    GatewayApiMissing,
    /// There may be as many replicas as tenants' limits ask for.
    EnoughReplicas,
    /// There may be fewer replicas than tenants' limits ask for.
    TooFewReplicas,
    /// The autoscaler knows how much replicas have to do.
    LoadKnown,
    /// The autoscaler does not know how much replicas have to do.
    LoadUnknown,
    /// What is older than plans keep it is forgotten once a day.
    PurgeWell,
    /// The last time, that failed.
    PurgeFailed,
    /// What does the work of a source is there and does well.
    WorkloadReady,
    /// What does the work of a source is not there yet, or does not do well.
    WorkloadNotReady,
    /// The operator was not told what to make workloads of.
    NoWorkloads,
    /// A source is left alone, or its work is done by others.
    NothingToRun,
    /// The database cannot be reached or refuses.
    StoreUnavailable,
    /// The API server cannot be reached or refuses.
    ApiServerUnavailable,
}

impl Reason {
    /// The reason of an object that is refused; `is_deleted`: whether it was to go.
    #[must_use]
    pub(crate) const fn of(refusal: &Refusal, is_deleted: bool) -> Self {
        match (&refusal.breaks, refusal.problem.cause) {
            (Some(_), _) if is_deleted => Self::InUse,
            (Some(_), _) => Self::BreaksOthers,
            (None, Cause::InvalidValue) => Self::Invalid,
            (None, Cause::PlanNotFound) => Self::PlanNotFound,
            (None, Cause::PolicyNotFound) => Self::PolicyNotFound,
            (None, Cause::TenantNotFound) => Self::TenantNotFound,
            (None, Cause::LimitNotFound) => Self::LimitNotFound,
            (None, Cause::AboveCeiling) => Self::AboveCeiling,
            (None, Cause::LimitsContradict) => Self::LimitsContradict,
        }
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use assay_manifests::{Specs, Wishes, settle};
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
    ) -> Reason {
        let key = |kind, name: &str| (kind, name.parse().unwrap());
        let stored = stored.iter().map(|(kind, name, spec)| (key(*kind, name), spec.clone()));
        let stored: Specs = stored.collect();
        let is_deleted = spec.is_none();
        let settled = settle(&stored, &Wishes::from([(key(kind, name), spec)])).unwrap();
        Reason::of(&settled.refused[&key(kind, name)], is_deleted)
    }

    fn stored() -> Vec<(Kind, &'static str, Value)> {
        vec![
            (Kind::Plan, "gold", plan(daily(100))),
            (Kind::RiskPolicy, "default", json!({})),
            (Kind::Tenant, "acme", tenant("gold", "default")),
        ]
    }

    #[test]
    fn a_problem_of_an_object_has_the_reason_of_its_cause() {
        let gold = || json!({"plan": "gold"});
        let one = |name: &str, requests: u64| json!([{"name": name, "requests": requests}]);
        let twice = json!([{"name": "daily", "requests": 20}, {"name": "daily", "requests": 30}]);
        let same = ["a", "b"]
            .map(|name| json!({"name": name, "requests": 5, "window": "1d", "counts": "checks"}));
        for (kind, spec, expected) in [
            (Kind::Tenant, tenant("silver", "default"), Reason::PlanNotFound),
            (Kind::Tenant, tenant("gold", "strict"), Reason::PolicyNotFound),
            (Kind::Tenant, tenant("no name", "default"), Reason::Invalid),
            (
                Kind::RateLimit,
                rate_limit(json!({"plan": "silver"}), one("daily", 20)),
                Reason::PlanNotFound,
            ),
            (
                Kind::RateLimit,
                rate_limit(json!({"tenant": "other"}), one("daily", 20)),
                Reason::TenantNotFound,
            ),
            (Kind::RateLimit, rate_limit(gold(), one("weekly", 20)), Reason::LimitNotFound),
            (Kind::RateLimit, rate_limit(gold(), one("daily", 101)), Reason::AboveCeiling),
            (Kind::RateLimit, rate_limit(gold(), one("daily", 0)), Reason::Invalid),
            (Kind::RateLimit, rate_limit(gold(), twice), Reason::LimitsContradict),
            (Kind::Plan, plan(json!(same)), Reason::LimitsContradict),
            (Kind::Plan, plan(json!([])), Reason::Invalid),
            (Kind::RiskPolicy, json!({"trace": {"hops": 0}}), Reason::Invalid),
        ] {
            let found = reason(&stored(), (kind, "new"), Some(spec.clone()));
            assert_eq!(found, expected, "{} {spec}", kind.as_str());
        }
    }

    #[test]
    fn a_change_that_others_forbid_has_a_reason_of_its_own() {
        let gold = (Kind::Plan, "gold");
        assert_eq!(reason(&stored(), gold, None), Reason::InUse);
        let raised = json!([{"name": "daily", "requests": 50}]);
        let mut raised =
            vec![(Kind::RateLimit, "more", rate_limit(json!({"plan": "gold"}), raised))];
        raised.extend(stored());
        assert_eq!(reason(&raised, gold, Some(plan(daily(20)))), Reason::BreaksOthers);
    }
}
