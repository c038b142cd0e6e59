//! Colors of risk, which funds, components and columns share.

use assay_engine::taxonomy::{Category, RISKY_FROM};

/// Lowest severity of categories that are drawn as severe.
const SEVERE_FROM: u8 = 75;

/// Look of a party or of evidence about it. A text beside it says the same in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    /// Listed, or of a severe category.
    Severe,
    /// Of a risky category.
    Risky,
    /// Of any other category.
    Service,
    /// Held by the subject, or returned to it.
    Own,
    /// Not attributed.
    Plain,
}

impl Tone {
    /// Class of the elements.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Severe => "severe",
            Self::Risky => "risky",
            Self::Service => "service",
            Self::Own => "own",
            Self::Plain => "plain",
        }
    }

    /// Returns the tone of a category by its severity.
    pub(crate) fn of_category(category: Option<&str>) -> Self {
        let known = category.and_then(|id| Category::ALL.iter().find(|it| it.as_str() == id));
        match (known.map(|category| category.info().severity), category) {
            (Some(SEVERE_FROM..), _) => Self::Severe,
            (Some(RISKY_FROM..), _) => Self::Risky,
            (Some(_), _) | (None, Some(_)) => Self::Service,
            (None, None) => Self::Plain,
        }
    }
}
