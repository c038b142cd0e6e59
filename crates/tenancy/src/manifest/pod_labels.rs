//! Labels of the pods of an object: names that are not reserved, and the forms that Kubernetes demands.

/// The beginnings of labels that the operator and Kubernetes write, and by which they find pods.
pub(crate) const RESERVED_LABELS: &[&str] = &[
    "app.kubernetes.io/",
    "apps.kubernetes.io/",
    "assay.dev/",
    "batch.kubernetes.io/",
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "pod-template-hash",
    "statefulset.kubernetes.io/",
];
/// The rule about the names of labels.
pub(crate) const RESERVED_LABEL: &str = "labels by which the operator and Kubernetes find pods, such as \
                                         `app.kubernetes.io/name`, are not allowed";
/// The rule about the forms of labels.
pub(crate) const LABEL_FORM: &str = "write names such as `team` or `example.com/team`, and values of at most 63 letters, \
                                     digits, `-`, `_` and `.`, which begin and end with a letter or digit";
/// The most characters of a value, and of a name without its domain.
const MOST_CHARACTERS: usize = 63;
/// The most characters of the domain before a name.
const MOST_OF_DOMAIN: usize = 253;

/// Says whether a name is one by which the operator or Kubernetes finds pods.
pub(crate) fn is_reserved_label(name: &str) -> bool {
    RESERVED_LABELS.iter().any(|start| name.starts_with(start))
}

/// Says whether Kubernetes accepts a label of that name and value.
pub(crate) fn is_label(name: &str, value: &str) -> bool {
    let (domain, own) =
        name.split_once('/').map_or((None, name), |(domain, own)| (Some(domain), own));
    domain.is_none_or(is_domain) && is_word(own) && (value.is_empty() || is_word(value))
}

/// Says whether a text is a name or value: letters, digits and, between them, `-`, `_` and `.`.
fn is_word(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= MOST_CHARACTERS
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().copied().all(is_inner)
}

/// Says whether a text is a domain in lower case.
fn is_domain(text: &str) -> bool {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(is_lower)
    };
    text.len() <= MOST_OF_DOMAIN && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_that_kubernetes_accepts() {
        let long = "a".repeat(63);
        for (name, value) in [
            ("team", "risk"),
            ("Cost_Center.1", ""),
            ("example.com/team", "a-b_C.9"),
            (&*long, &*long),
        ] {
            assert!(is_label(name, value), "{name}: {value}");
        }
        let longer = "a".repeat(64);
        for (name, value) in [
            ("", "a"),
            ("-team", "a"),
            ("team.", "a"),
            ("a b", "a"),
            ("/team", "a"),
            ("example.com/", "a"),
            ("example.com/a/b", "a"),
            ("Example.com/team", "a"),
            ("example..com/team", "a"),
            ("-example.com/team", "a"),
            ("team", "-"),
            ("team", "a b"),
            ("team", &*longer),
            (&*longer, "a"),
        ] {
            assert!(!is_label(name, value), "{name}: {value}");
        }
        assert!(
            is_reserved_label("app.kubernetes.io/part-of") && !is_reserved_label("example.com/app")
        );
    }
}
