//! Refusals of the APIs of explorers, which tell them by a status of HTTP or by a text in an answer of status 200.

use std::fmt;

/// Refusal of a request by an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiRefusal {
    /// Too many requests in a short time. The same request succeeds in some seconds.
    TooManyRequests,
    /// The requests of the day are used up.
    DailyLimit,
    /// The key is missing, invalid or revoked.
    InvalidKey,
    /// The plan of the key excludes the chain or the list.
    NotInPlan,
    /// The API is out of order for some time, or was asked too often without success.
    Unavailable,
    /// The request takes the API too long: a smaller part of the list may succeed.
    QueryTimeout,
    /// The API states that it lacks a part of the data.
    DataMissing,
    /// One block has more rows than the API returns.
    WindowFull,
    /// The API has no such list.
    NotOffered,
    /// Another error.
    Other,
}

impl ApiRefusal {
    /// True if the same request may succeed after some seconds.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::TooManyRequests | Self::Unavailable)
    }

    /// True if no request with the same key succeeds before the next day.
    #[must_use]
    pub const fn ends_the_day(self) -> bool {
        matches!(self, Self::DailyLimit)
    }

    /// True if another key or plan is needed.
    #[must_use]
    pub const fn needs_other_key(self) -> bool {
        matches!(self, Self::InvalidKey | Self::NotInPlan)
    }

    /// The refusal of a text, in the words of Etherscan, Blockscout, Routescan or TronGrid.
    pub(super) fn of_text(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let known = TEXTS.iter().find(|(part, _)| text.contains(part));
        known.map_or(Self::Other, |(_, refusal)| *refusal)
    }
}

/// Parts of texts in lowercase. The first one that matches counts: texts on the limit of a day mention a rate too.
const TEXTS: [(&str, ApiRefusal); 22] = [
    ("max daily", ApiRefusal::DailyLimit),
    ("daily limit", ApiRefusal::DailyLimit),
    ("day/limit", ApiRefusal::DailyLimit),
    ("max calls per sec", ApiRefusal::TooManyRequests),
    ("max rate limit", ApiRefusal::TooManyRequests),
    ("rate limit", ApiRefusal::TooManyRequests),
    ("too many requests", ApiRefusal::TooManyRequests),
    ("frequency limit", ApiRefusal::TooManyRequests),
    ("lack of computing resources", ApiRefusal::TooManyRequests),
    ("invalid api key", ApiRefusal::InvalidKey),
    ("missing api key", ApiRefusal::InvalidKey),
    ("missing/invalid", ApiRefusal::InvalidKey),
    ("apikey not exists", ApiRefusal::InvalidKey),
    ("not supported for this chain", ApiRefusal::NotInPlan),
    ("upgrade your api plan", ApiRefusal::NotInPlan),
    ("unsupported chainid", ApiRefusal::NotInPlan),
    ("api pro endpoint", ApiRefusal::NotInPlan),
    ("temporarily unavailable", ApiRefusal::Unavailable),
    ("server too busy", ApiRefusal::Unavailable),
    ("query timeout", ApiRefusal::QueryTimeout),
    ("result window is too large", ApiRefusal::WindowFull),
    ("not yet processed", ApiRefusal::DataMissing),
];

impl fmt::Display for ApiRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooManyRequests => "too many requests",
            Self::DailyLimit => "the requests of the day are used up",
            Self::InvalidKey => "the key is refused",
            Self::NotInPlan => "the plan of the key excludes the request",
            Self::Unavailable => "unavailable for some time",
            Self::QueryTimeout => "the request takes the API too long",
            Self::DataMissing => "a part of the data is missing",
            Self::WindowFull => "one block has more rows than the API returns",
            Self::NotOffered => "it has no such list",
            Self::Other => "an error",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_apis_are_told_apart() {
        for (text, refusal) in [
            ("Max calls per sec rate limit reached (3/sec)", ApiRefusal::TooManyRequests),
            ("Max rate limit reached, please use API Key", ApiRefusal::TooManyRequests),
            (
                "Max daily rate limit reached. 110000 (100%) of 100000 day/limit",
                ApiRefusal::DailyLimit,
            ),
            ("Invalid API Key (#err2)|ABC-", ApiRefusal::InvalidKey),
            ("Missing/Invalid API Key", ApiRefusal::InvalidKey),
            (
                "Free API access is not supported for this chain. Please upgrade your api plan",
                ApiRefusal::NotInPlan,
            ),
            ("The service is temporarily unavailable", ApiRefusal::Unavailable),
            ("Query Timeout occured. Please select a smaller dataset", ApiRefusal::QueryTimeout),
            (
                "Result window is too large, PageNo x Offset size must be less than 10000",
                ApiRefusal::WindowFull,
            ),
            ("The key exceeds the frequency limit", ApiRefusal::TooManyRequests),
            ("Error! Invalid address format", ApiRefusal::Other),
        ] {
            assert_eq!(ApiRefusal::of_text(text), refusal, "{text}");
        }
    }
}
