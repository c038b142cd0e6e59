//! The columns of Assay's own formats for listings.

use crate::error::FileError;

/// Column of a row of `listings-csv`, and field of an object of `listings-jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ListingColumn {
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
    OrderNumber,
    LegalBasis,
    OfficialLink,
}

impl ListingColumn {
    const ALL: [Self; 15] = [
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
        Self::OrderNumber,
        Self::LegalBasis,
        Self::OfficialLink,
    ];
    /// Columns that every file has.
    pub(crate) const REQUIRED: [Self; 5] =
        [Self::List, Self::EntityId, Self::Entity, Self::AssetCode, Self::Address];

    /// Names and columns.
    pub(crate) fn named_columns() -> [(&'static str, Self); 15] {
        Self::ALL.map(|column| (column.name(), column))
    }

    /// The column with a name.
    pub(crate) fn named(name: &str, line: u64) -> Result<Self, FileError> {
        Self::ALL
            .into_iter()
            .find(|column| column.name() == name)
            .ok_or_else(|| column_error(line, format!("no such column: `{}`", excerpt(name))))
    }

    pub(crate) const fn name(self) -> &'static str {
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
            Self::OrderNumber => "order_number",
            Self::LegalBasis => "legal_basis",
            Self::OfficialLink => "official_link",
        }
    }

    /// True if a cell holds several texts.
    pub(crate) const fn is_several(self) -> bool {
        matches!(self, Self::Programs | Self::Aliases)
    }

    /// True if the column holds free text, which people open in spreadsheets.
    pub(crate) const fn is_free_text(self) -> bool {
        matches!(
            self,
            Self::Entity
                | Self::ListName
                | Self::Aliases
                | Self::Remarks
                | Self::AddressRemarks
                | Self::OrderNumber
                | Self::LegalBasis
                | Self::OfficialLink
        )
    }
}

/// An error about the columns of a file.
pub(crate) fn column_error(line: u64, problem: String) -> FileError {
    FileError::Columns {
        line,
        problem,
        known: ListingColumn::ALL.map(ListingColumn::name).join(", "),
    }
}

/// The beginning of a text, for a message.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(64).collect()
}
