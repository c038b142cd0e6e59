//! The task of a source's workload, or the reason for which no workload runs.

use std::fmt;

use assay_tenancy::{
    Name,
    manifest::{ChainSourceSpec, IntelSourceSpec},
};

use super::credentials::{CredentialsRefusal, SourceCredentials};
use crate::{owned::OwnedKind, pod::SecretFile, reason::ConditionReason};

/// The task of a workload.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Import a list or label set on a schedule.
    Import(Box<ImportTask>),
    /// Follow a chain, and answer questions about its graph.
    ServeChain(Box<ChainServerTask>),
}

/// The import of a list or label set.
#[derive(Clone, Debug)]
pub(super) struct ImportTask {
    /// The source's name in the store.
    pub(super) source: Name,
    /// The spec of the source, whose location is a URL.
    pub(super) spec: IntelSourceSpec,
    /// The credentials for the source's server.
    pub(super) credentials: Option<SourceCredentials>,
    /// True if a first import runs immediately, because the source was never imported.
    pub(super) has_first_job: bool,
}

/// The chain servers of a chain.
#[derive(Clone, Debug)]
pub(super) struct ChainServerTask {
    /// The spec of the source, whose mode is `follow`.
    pub(super) spec: ChainSourceSpec,
    /// The credentials for the node.
    pub(super) credentials: Option<SourceCredentials>,
    /// The reason for which the servers follow no node, if any.
    pub(super) pause: Option<PauseReason>,
    /// The file with the token that chain servers demand.
    pub(super) token: SecretFile,
}

/// The reason for which chain servers follow no node and answer from the blocks that they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PauseReason {
    /// The source is suspended.
    Suspended,
    /// The Secret with the credentials for the node does not permit its use.
    CredentialsRefused(CredentialsRefusal),
}

/// The reason for which no workload of a source runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IdleReason {
    /// The operator has no settings for workloads.
    NoSettings,
    /// The operator has no token for chain servers.
    NoChainToken,
    /// The list is a local file.
    File,
    /// Servers fetch histories on demand.
    OnDemand,
    /// The source is suspended.
    Suspended,
    /// The Secret with the credentials does not permit its use.
    CredentialsRefused(CredentialsRefusal),
    /// An object of a desired name belongs to another owner.
    NameTaken { kind: String, name: String, namespace: String },
}

/// The fate of an existing workload whose source must not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadEnd {
    /// The workload stays.
    Kept,
    /// The workload is deleted; a running first import may finish, unless it failed before.
    Deleted,
    /// The workload and running imports are deleted.
    DeletedAtOnce,
}

impl IdleReason {
    /// The reason in the condition about the workload.
    pub(super) const fn reason(&self) -> ConditionReason {
        match self {
            Self::NoSettings | Self::NoChainToken => ConditionReason::WorkloadsDisabled,
            Self::File | Self::OnDemand | Self::Suspended => ConditionReason::NothingToRun,
            Self::CredentialsRefused(_) => ConditionReason::CredentialsNotAllowed,
            Self::NameTaken { .. } => ConditionReason::NameTaken,
        }
    }

    /// The fate of an existing workload.
    pub(super) const fn workload_end(&self) -> WorkloadEnd {
        match self {
            Self::File | Self::OnDemand => WorkloadEnd::Deleted,
            Self::CredentialsRefused(_) => WorkloadEnd::DeletedAtOnce,
            Self::NoSettings | Self::NoChainToken | Self::Suspended | Self::NameTaken { .. } => {
                WorkloadEnd::Kept
            }
        }
    }

    /// Says whether the reason may cease without an event of a watch. The operator watches no Secrets except those that
    /// it created.
    pub(super) const fn needs_recheck(&self) -> bool {
        matches!(self, Self::CredentialsRefused(_))
    }
}

impl fmt::Display for IdleReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSettings => formatter.write_str(
                "the operator was started without --image and --database-secret: servers that run \
                 with `--feeds on` fetch the source",
            ),
            Self::NoChainToken => formatter.write_str(
                "the operator was started without --chain-token-secret: it runs no chain servers",
            ),
            Self::File => formatter.write_str(
                "the location is a local file: import it on its machine, by a server with \
                 `--feeds on` or by `assay ingest`",
            ),
            Self::OnDemand => {
                formatter.write_str("servers fetch histories on demand: no workload is needed")
            }
            Self::Suspended => formatter.write_str("the source is suspended"),
            Self::CredentialsRefused(refusal) => refusal.fmt(formatter),
            Self::NameTaken { kind, name, namespace } => write!(
                formatter,
                "{kind} `{name}` in namespace `{namespace}` was not created for this source: delete it"
            ),
        }
    }
}

impl Task {
    /// The URL from which the workload fetches.
    pub(super) fn url(&self) -> &str {
        match self {
            Self::Import(import) => &import.spec.location,
            Self::ServeChain(serve) => &serve.spec.endpoint,
        }
    }

    /// Says whether the task's workload has an object of a kind.
    pub(super) const fn has(&self, kind: OwnedKind) -> bool {
        match kind {
            OwnedKind::NetworkPolicy => true,
            OwnedKind::CronJob => matches!(self, Self::Import(_)),
            OwnedKind::Job => matches!(self, Self::Import(import) if import.has_first_job),
            OwnedKind::Service | OwnedKind::PodDisruptionBudget | OwnedKind::StatefulSet => {
                matches!(self, Self::ServeChain(_))
            }
            _ => false,
        }
    }
}
