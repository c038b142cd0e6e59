//! Header fields of pages, and the origin of requests.

use std::sync::LazyLock;

use assay_picture::STYLE;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// Value of `Content-Security-Policy` of pages: style sheets, pictures and targets of forms of this server alone, and no
/// scripts.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                           frame-ancestors 'none'";

/// The same for a page with the console's own script, which asks this server alone.
static SCRIPT_POLICY: LazyLock<String> =
    LazyLock::new(|| format!("{PAGE_POLICY}; script-src 'self'; connect-src 'self'"));

/// Value of `Content-Security-Policy` of a picture as a file: its own style, by its digest.
static PICTURE_POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'")
});

/// Sets the policy of a page.
pub(crate) fn protect_page(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
}

/// Sets the policy of a page with the console's own script.
pub(crate) fn protect_page_with_script(headers: &mut HeaderMap) {
    protect_by(headers, &SCRIPT_POLICY);
}

/// Sets the policy of a picture as a file.
pub(crate) fn protect_picture(headers: &mut HeaderMap) {
    protect_by(headers, &PICTURE_POLICY);
}

fn protect_by(headers: &mut HeaderMap, policy: &str) {
    protect_page(headers);
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// True if a page of another site caused the request, or a browser makes it before anybody asks for it.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_foreign =
        value("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let is_prefetch = value("sec-purpose").is_some_and(|purpose| purpose.contains("prefetch"));
    is_foreign || is_prefetch
}

/// True if a form carries the form token of its session.
pub(crate) fn is_own_form(form_token: &str, presented: &str) -> bool {
    form_token.as_bytes().ct_eq(presented.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{SessionToken, Token};

    #[test]
    fn requests_that_other_sites_cause_are_foreign() {
        let with = |name: &'static str, value: &'static str| {
            [(name.parse().unwrap(), HeaderValue::from_static(value))].into_iter().collect()
        };
        assert!(!is_foreign(&HeaderMap::new()), "an old browser or a program");
        assert!(!is_foreign(&with("sec-fetch-site", "none")));
        assert!(!is_foreign(&with("sec-fetch-site", "same-origin")));
        assert!(is_foreign(&with("sec-fetch-site", "cross-site")));
        assert!(is_foreign(&with("sec-fetch-site", "same-site")), "another port of the machine");
        assert!(is_foreign(&with("sec-purpose", "prefetch;prerender")));
    }

    #[test]
    fn the_token_of_a_form_is_that_of_its_session() {
        let session = |low| SessionToken::new("acme".parse().unwrap(), Token::new(1, low));
        let own = session(2).form_token();
        assert!(is_own_form(&own, &session(2).form_token()));
        assert!(!is_own_form(&own, &session(3).form_token()));
        assert!(!is_own_form(&own, &session(2).expose()));
        assert!(!is_own_form(&own, ""));
    }

    #[test]
    fn no_policy_has_an_unsafe_source() {
        for policy in [PAGE_POLICY, SCRIPT_POLICY.as_str(), PICTURE_POLICY.as_str()] {
            assert!(!policy.contains("unsafe"), "{policy}");
        }
    }
}
