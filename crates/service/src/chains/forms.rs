//! Structural forms of one transaction of a graph, such as a consolidation.

use std::collections::HashMap;

use assay_engine::{
    evidence::Pattern,
    ledger::OwnerNumber,
    patterns::form::{FormCriteria, FormEntry, forms},
    utxo::{ScriptOwner, SideEntry, TransactionView},
};
use assay_graph::{Graph, GraphError};

/// A transaction with its largest inputs and outputs, and its structural forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionWithForms {
    /// The transaction.
    pub transaction: TransactionView,
    /// Structural forms of the transaction, such as [`Pattern::Consolidation`].
    pub forms: Vec<Pattern>,
}

/// Classifies a fully read transaction by its structure (peel step, consolidation, batch payout, self-transfer, and so
/// on). Owners in one cluster count as one owner. Outputs of up to `dust` base units are dust.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn forms_of(
    graph: &dyn Graph,
    transaction: &TransactionView,
    dust: u128,
) -> Result<Vec<Pattern>, GraphError> {
    let sides = [&transaction.inputs.largest, &transaction.outputs.largest];
    let owners: Vec<ScriptOwner> =
        sides.into_iter().flatten().map(|entry| entry.output.owner.clone()).collect();
    let clusters = graph.clusters(&owners).await?;
    let mut numbers: HashMap<ScriptOwner, OwnerNumber> = HashMap::new();
    let mut of_owner: HashMap<ScriptOwner, OwnerNumber> = HashMap::new();
    for (owner, cluster) in owners.into_iter().zip(clusters) {
        let root = cluster.map_or_else(|| owner.clone(), |cluster| cluster.root);
        let next = OwnerNumber(numbers.len() as u64);
        let number = *numbers.entry(root).or_insert(next);
        of_owner.insert(owner, number);
    }
    let entries = |side: &[SideEntry], is_output: bool| -> Vec<FormEntry> {
        let entry = |entry: &SideEntry| {
            let SideEntry { output, .. } = entry;
            let owner = *of_owner.get(&output.owner)?;
            let is_data = is_output && output.value == 0 && output.owner.is_bare_script();
            Some(FormEntry { owner, value: output.value, is_data })
        };
        side.iter().filter_map(entry).collect()
    };
    Ok(forms(&FormCriteria {
        kind: transaction.kind,
        inputs: transaction.inputs.count,
        known_inputs: &entries(&transaction.inputs.largest, false),
        outputs: &entries(&transaction.outputs.largest, true),
        dust,
    }))
}
