//! Owners of scripts, as a trace compares them.

use std::collections::HashMap;

use crate::utxo::ScriptOwner;

/// The cluster of each script owner. Money that moves within a cluster stays with its owner.
#[derive(Clone, Debug, Default)]
pub struct Clusters(HashMap<ScriptOwner, ScriptOwner>);

impl Clusters {
    /// The identifier of an owner's cluster; the owner itself if it shares its cluster with nobody.
    #[must_use]
    pub fn of<'a>(&'a self, owner: &'a ScriptOwner) -> &'a ScriptOwner {
        self.0.get(owner).unwrap_or(owner)
    }

    /// True if the cluster of this owner was looked up.
    #[must_use]
    pub fn has(&self, owner: &ScriptOwner) -> bool {
        self.0.contains_key(owner)
    }
}

impl Extend<(ScriptOwner, ScriptOwner)> for Clusters {
    fn extend<I: IntoIterator<Item = (ScriptOwner, ScriptOwner)>>(&mut self, clusters: I) {
        self.0.extend(clusters);
    }
}

impl FromIterator<(ScriptOwner, ScriptOwner)> for Clusters {
    fn from_iter<I: IntoIterator<Item = (ScriptOwner, ScriptOwner)>>(clusters: I) -> Self {
        Self(clusters.into_iter().collect())
    }
}
