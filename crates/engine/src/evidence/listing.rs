//! Listings: an official list names an address. What is legally in force on a day is decided here.

use jiff::{ToSpan, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{ListId, SourceId};

/// Days for which a listing that expired by its own validity still asks for a review.
pub const REVIEW_DAYS_AFTER_EXPIRY: i32 = 90;

/// One address as an official list names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The source it was imported from.
    pub source: SourceId,
    /// The list.
    pub list: ListId,
    /// The list's name as people know it, such as `OFAC SDN List`.
    pub list_name: String,
    /// Whom the list names as the address's holder.
    pub entity: ListedEntity,
    /// The list's code for the asset, such as `XBT`.
    pub asset_code: String,
    /// The address exactly as the list prints it.
    pub address_as_published: String,
    /// What the list remarks on this address.
    pub address_remarks: Option<String>,
    /// Date of the first publication that held the address; `None` where that was before the first
    /// publication known here.
    pub listed_on: Option<Date>,
    /// Date of the first publication without the address.
    pub delisted_on: Option<Date>,
    /// First day on which the listing is no longer valid by its own terms.
    pub expires_on: Option<Date>,
}

/// A person, company or vessel on a sanctions list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedEntity {
    /// The list's own identifier.
    pub id: String,
    /// The primary name.
    pub name: String,
    /// Other names, in the list's order.
    pub aliases: Vec<Alias>,
    /// The programmes under which it is listed.
    pub programmes: Vec<String>,
    /// What the list remarks on the entity.
    pub remarks: Option<String>,
    /// The entity's own date on the list.
    pub listed_on: Option<Date>,
}

/// Another name of a listed entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The list's word for the kind, such as `A.K.A.`.
    pub kind: String,
    /// Whether the list itself calls it a weak alias.
    pub weak: bool,
}

/// Where a listing stands on a given day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListingStatus {
    /// In force.
    Active,
    /// Ended by its own validity fewer than 90 days ago.
    RecentlyExpired,
    /// Ended by its own validity.
    Expired,
    /// A later publication dropped it.
    Delisted,
    /// Not yet in force.
    NotYetListed,
}

impl ListingStatus {
    /// Why the listing ended, if it has.
    #[must_use]
    pub const fn ended_reason(self) -> Option<EndedReason> {
        match self {
            Self::Active | Self::NotYetListed => None,
            Self::Delisted => Some(EndedReason::Delisted),
            Self::RecentlyExpired | Self::Expired => Some(EndedReason::Expired),
        }
    }
}

/// Why a listing is no longer in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedReason {
    /// A later publication dropped it.
    Delisted,
    /// Its own validity ended.
    Expired,
}

impl Listing {
    /// Where the listing stands on `day`.
    ///
    /// Where the day on which the address was added is unknown, the entity's own date decides: it is
    /// the earliest on which the address can have been listed.
    #[must_use]
    pub fn status(&self, day: Date) -> ListingStatus {
        if self
            .listed_on
            .or(self.entity.listed_on)
            .is_some_and(|from| day < from)
        {
            return ListingStatus::NotYetListed;
        }
        if self.delisted_on.is_some_and(|until| until <= day) {
            return ListingStatus::Delisted;
        }
        match self.expires_on {
            Some(expired) if expired <= day => {
                let review_ends = expired.saturating_add(REVIEW_DAYS_AFTER_EXPIRY.days());
                if day < review_ends {
                    ListingStatus::RecentlyExpired
                } else {
                    ListingStatus::Expired
                }
            }
            _ => ListingStatus::Active,
        }
    }

    /// The days after `day` on which the status changes by itself.
    pub fn turning_days(&self, day: Date) -> impl Iterator<Item = Date> {
        let review_ends = self
            .expires_on
            .map(|expired| expired.saturating_add(REVIEW_DAYS_AFTER_EXPIRY.days()));
        [
            self.listed_on.or(self.entity.listed_on),
            self.delisted_on,
            self.expires_on,
            review_ends,
        ]
        .into_iter()
        .flatten()
        .filter(move |turning| *turning > day)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn listing(list: &str) -> Listing {
        Listing {
            source: list.parse().unwrap(),
            list: list.parse().unwrap(),
            list_name: list.to_uppercase(),
            entity: ListedEntity {
                id: "7".into(),
                name: "DOE, Jane".into(),
                aliases: vec![],
                programmes: vec!["CYBER2".into()],
                remarks: None,
                listed_on: Some(date(2019, 8, 21)),
            },
            asset_code: "XBT".into(),
            address_as_published: "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h".into(),
            address_remarks: None,
            listed_on: None,
            delisted_on: None,
            expires_on: None,
        }
    }

    #[test]
    fn a_listing_is_in_force_from_its_first_publication_until_the_first_without_it() {
        let mut listing = listing("ofac-sdn");
        assert_eq!(
            listing.status(date(2019, 8, 20)),
            ListingStatus::NotYetListed
        );
        assert_eq!(listing.status(date(2019, 8, 21)), ListingStatus::Active);
        listing.listed_on = Some(date(2020, 1, 1));
        assert_eq!(
            listing.status(date(2019, 12, 31)),
            ListingStatus::NotYetListed
        );
        listing.delisted_on = Some(date(2025, 3, 21));
        assert_eq!(listing.status(date(2025, 3, 20)), ListingStatus::Active);
        assert_eq!(listing.status(date(2025, 3, 21)), ListingStatus::Delisted);
    }

    #[test]
    fn an_expired_order_asks_for_review_for_ninety_days() {
        let mut listing = listing("il-nbctf");
        listing.expires_on = Some(date(2025, 1, 1));
        assert_eq!(listing.status(date(2024, 12, 31)), ListingStatus::Active);
        assert_eq!(
            listing.status(date(2025, 1, 1)),
            ListingStatus::RecentlyExpired
        );
        assert_eq!(
            listing.status(date(2025, 3, 31)),
            ListingStatus::RecentlyExpired
        );
        assert_eq!(listing.status(date(2025, 4, 1)), ListingStatus::Expired);
    }
}
