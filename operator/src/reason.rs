//! Why something is as it is: a closed set of words, for conditions, events and metrics.

use assay_manifests::Refusal;
use assay_tenancy::manifest::Kind;

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
    /// Why a wish was refused.
    #[must_use]
    pub fn of(kind: Kind, is_removal: bool, refusal: &Refusal) -> Self {
        if refusal.breaks.is_some() {
            return if is_removal { Self::InUse } else { Self::BreaksOthers };
        }
        let path = refusal.problem.path.as_str();
        match (kind, path) {
            (Kind::Tenant, "spec.plan") | (Kind::RateLimit, "spec.target.plan") => {
                Self::PlanNotFound
            }
            (Kind::Tenant, "spec.policy") => Self::PolicyNotFound,
            (Kind::RateLimit, "spec.target.tenant") => Self::TenantNotFound,
            (Kind::RateLimit | Kind::Plan, "spec.limits") => Self::LimitsContradict,
            (Kind::RateLimit, _) if path.ends_with("].requests") => Self::AboveCeiling,
            (Kind::RateLimit, _) if path.ends_with("].name") => Self::LimitNotFound,
            _ => Self::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_tenancy::FieldProblem;

    use super::*;

    #[test]
    fn a_refusal_has_a_word_of_its_own() {
        let refusal = |path: &str, breaks: Option<&str>| Refusal {
            problem: FieldProblem { path: path.into(), message: String::new() },
            breaks: breaks.map(str::to_owned),
        };
        for (kind, removal, refusal, reason) in [
            (Kind::Tenant, false, refusal("spec.plan", None), Reason::PlanNotFound),
            (
                Kind::RateLimit,
                false,
                refusal("spec.limits[1].requests", None),
                Reason::AboveCeiling,
            ),
            (Kind::RateLimit, false, refusal("spec.limits[0].name", None), Reason::LimitNotFound),
            (Kind::Plan, false, refusal("spec.limits", None), Reason::LimitsContradict),
            (Kind::RiskPolicy, false, refusal("spec.trace.hops", None), Reason::Invalid),
            (Kind::Plan, true, refusal("spec.plan", Some("Tenant a")), Reason::InUse),
            (Kind::Plan, false, refusal("spec.plan", Some("Tenant a")), Reason::BreaksOthers),
        ] {
            assert_eq!(Reason::of(kind, removal, &refusal), reason);
        }
    }
}
