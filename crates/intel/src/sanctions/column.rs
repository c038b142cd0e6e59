//! The columns of plain listings.

use super::ListError;

/// A column of a plain listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    List,
    EntityId,
    Entity,
    AssetCode,
    Address,
    ListName,
    Programs,
    Aliases,
    Remarks,
    AddressRemarks,
    EntityListedOn,
    ExpiresOn,
}

impl Column {
    const ALL: [Self; 12] = [
        Self::List,
        Self::EntityId,
        Self::Entity,
        Self::AssetCode,
        Self::Address,
        Self::ListName,
        Self::Programs,
        Self::Aliases,
        Self::Remarks,
        Self::AddressRemarks,
        Self::EntityListedOn,
        Self::ExpiresOn,
    ];
    /// Those that every listing has.
    pub(super) const REQUIRED: [Self; 5] =
        [Self::List, Self::EntityId, Self::Entity, Self::AssetCode, Self::Address];

    /// The column of this name.
    pub(super) fn named(name: &str, line: u64) -> Result<Self, ListError> {
        Self::ALL
            .into_iter()
            .find(|column| column.name() == name)
            .ok_or_else(|| ListError::UnknownColumn { line, name: shown(name) })
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::EntityId => "entity_id",
            Self::Entity => "entity",
            Self::AssetCode => "asset_code",
            Self::Address => "address",
            Self::ListName => "list_name",
            Self::Programs => "programs",
            Self::Aliases => "aliases",
            Self::Remarks => "remarks",
            Self::AddressRemarks => "address_remarks",
            Self::EntityListedOn => "entity_listed_on",
            Self::ExpiresOn => "expires_on",
        }
    }

    /// Whether it holds several texts.
    pub(super) const fn is_several(self) -> bool {
        matches!(self, Self::Programs | Self::Aliases)
    }

    /// Whether it holds words, which end up in people's spreadsheets.
    pub(super) const fn is_words(self) -> bool {
        matches!(
            self,
            Self::Entity | Self::ListName | Self::Aliases | Self::Remarks | Self::AddressRemarks
        )
    }
}

/// The names of all columns.
pub(super) fn known() -> String {
    Column::ALL.map(|column| format!("`{}`", column.name())).join(", ")
}

/// The beginning of a text that is repeated in a message.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}
