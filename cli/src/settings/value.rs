//! Parsing of values of settings; errors name the expected form.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use assay_chain_protocol::{ChainServerCredentials, ChainServers};
use assay_egress::{InvalidNetwork, NamedCredentials, Networks};
use assay_redis::{RedisUrl, RedisUrlError};
use assay_tenancy::{WEB_URL_FORM, is_web_url};
use tracing_subscriber::EnvFilter;

use super::{ConsoleMode, DatabaseUrl, Feeds, LogFormat, LogSample, Switch};

pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("must not be empty".into()) } else { Ok(PathBuf::from(text)) }
}

#[expect(clippy::unnecessary_wraps, reason = "every reader can refuse")]
pub(super) fn optional_path(text: &str) -> Result<Option<PathBuf>, String> {
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

/// Paths that are separated by commas.
#[expect(clippy::unnecessary_wraps, reason = "every reader can refuse")]
pub(super) fn paths(text: &str) -> Result<Vec<PathBuf>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    Ok(entries.map(PathBuf::from).collect())
}

/// Files with credentials of single sources, separated by commas.
pub(super) fn source_credentials(text: &str) -> Result<Vec<NamedCredentials>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| entry.parse().map_err(|error| format!("{error}"))).collect()
}

/// Parses the URL of a PostgreSQL database. The message does not contain the text, which may hold a password.
pub(super) fn database_url(text: &str) -> Result<Option<DatabaseUrl>, String> {
    match text {
        "" => Ok(None),
        url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(Some(DatabaseUrl(url.to_owned())))
        }
        _ => Err("must begin with postgres://; the embedded database needs --data-dir only".into()),
    }
}

/// Entries of chain servers, each of a valid form.
pub(super) fn chain_servers(text: &str) -> Result<Vec<String>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let entries: Vec<String> = entries.map(str::to_owned).collect();
    let parsed =
        ChainServers::parse(entries.iter().map(String::as_str), &ChainServerCredentials::default());
    parsed.map(|_| entries).map_err(|error| error.to_string())
}

/// Parses the URL of Redis. The message does not contain the text, which may hold a password.
pub(super) fn redis_url(text: &str) -> Result<Option<RedisUrl>, String> {
    match text {
        "" => Ok(None),
        url => url.parse().map(Some).map_err(|error: RedisUrlError| error.to_string()),
    }
}

pub(super) fn prefix(text: &str) -> Result<String, String> {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    if !text.is_empty() && text.len() <= 64 && text.bytes().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not 1 to 64 letters, digits and - _ . :"))
    }
}

pub(super) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is not an address and port, such as 127.0.0.1:8080"))
}

pub(super) fn log_level(text: &str) -> Result<String, String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    // The filter takes any other word for the name of a module, and logs nothing else.
    let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
    let mut words = text.split(',').filter(|word| !word.contains(['=', '[', ':']));
    if let Some(word) = words.find(|word| !is_level(word.trim())) {
        return Err(format!("`{word}` is not a log level: use {}", LEVELS.join(", ")));
    }
    // The filter takes no white space after a comma.
    let plain = text.split(',').map(str::trim).collect::<Vec<_>>().join(",");
    match plain.parse::<EnvFilter>() {
        Ok(_) => Ok(plain),
        Err(error) => Err(format!("`{text}` is not a log level, such as info: {error}")),
    }
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        other => Err(format!("`{other}` is neither text nor json")),
    }
}

pub(super) fn log_sample(text: &str) -> Result<LogSample, String> {
    let sample = text.parse().ok().and_then(LogSample::new);
    sample.ok_or_else(|| format!("`{text}` is not a number from 0 to 1, such as 0.01"))
}

pub(super) fn feeds(text: &str) -> Result<Feeds, String> {
    match text {
        "on" => Ok(Feeds::On),
        "off" => Ok(Feeds::Off),
        other => Err(format!("`{other}` is neither on nor off")),
    }
}

pub(super) fn console(text: &str) -> Result<ConsoleMode, String> {
    match text {
        "auto" => Ok(ConsoleMode::Auto),
        "off" => Ok(ConsoleMode::Off),
        other => Err(format!("`{other}` is neither auto nor off")),
    }
}

/// The URL of this server, without a path.
pub(super) fn own_url(text: &str) -> Result<Option<String>, String> {
    let url = text.strip_suffix('/').unwrap_or(text);
    match url {
        "" => Ok(None),
        url if is_web_url(url) && origin(url).is_ok() => Ok(Some(url.to_owned())),
        _ => Err(format!("`{text}` is not the URL of a server, such as https://risk.example.com")),
    }
}

/// A URL.
pub(super) fn web_url(text: &str) -> Result<Option<String>, String> {
    match text {
        "" => Ok(None),
        url if is_web_url(url) => Ok(Some(url.to_owned())),
        _ => Err(format!("`{text}` is no URL: {WEB_URL_FORM}")),
    }
}

/// A text, or none.
#[expect(clippy::unnecessary_wraps, reason = "values are read by functions of one type")]
pub(super) fn optional_text(text: &str) -> Result<Option<String>, String> {
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Words, separated by spaces.
#[expect(clippy::unnecessary_wraps, reason = "values are read by functions of one type")]
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

pub(super) fn switch(text: &str) -> Result<Switch, String> {
    match text {
        "on" => Ok(Switch::On),
        "off" => Ok(Switch::Off),
        other => Err(format!("`{other}` is neither on nor off")),
    }
}

/// Origins, separated by commas.
pub(super) fn origins(text: &str) -> Result<Vec<String>, String> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(origin).collect()
}

/// Parses an origin as browsers send it: scheme, host and port.
fn origin(text: &str) -> Result<String, String> {
    let error = || {
        format!(
            "`{text}` is not an origin, such as https://console.example or http://localhost:3000"
        )
    };
    let (scheme, host) = text.split_once("://").ok_or_else(error)?;
    let plain = host
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]".contains(&byte));
    let right = ["http", "https"].contains(&scheme) && plain && !host.is_empty();
    if right { Ok(text.to_owned()) } else { Err(error()) }
}

/// The base of a collector's URLs. The message does not contain the text, which may hold a password.
pub(super) fn collector(text: &str) -> Result<Option<String>, String> {
    match text {
        "" => Ok(None),
        url if is_web_url(url) => Ok(Some(url.to_owned())),
        url if url.starts_with("http://") || url.starts_with("https://") => {
            Err(format!("is no URL: {WEB_URL_FORM}"))
        }
        _ => Err("must begin with http:// or https://, such as http://127.0.0.1:4318".into()),
    }
}

pub(super) fn many(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000_000) => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 to 1000000")),
    }
}

pub(super) fn networks(text: &str) -> Result<Networks, String> {
    text.parse().map_err(|error: InvalidNetwork| error.to_string())
}

pub(super) fn backlog(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number @ 1..=65_535) => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 to 65535")),
    }
}

pub(super) fn connections(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number @ 1..=1_000) => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 to 1000")),
    }
}

pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than nothing".into()),
        other => other,
    }
}

/// A duration: a whole number and `ms`, `s`, `m` or `h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let error = || format!("`{text}` is not a time, such as 250ms or 30s");
    let (number, unit) = split(text).ok_or_else(error)?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(error()),
    };
    number.checked_mul(milliseconds).map(Duration::from_millis).ok_or_else(error)
}

/// A size: a whole number of bytes, or of `KiB`, `MiB` or `GiB`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let error = || format!("`{text}` is not a size, such as 64MiB");
    let (number, unit) = split(text).ok_or_else(error)?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(error()),
    };
    number.checked_mul(factor).ok_or_else(error)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_level_is_no_module() {
        for right in
            ["info", "DEBUG", "off", "info,assay_store=debug", "warn, assay_api::request=trace"]
        {
            assert!(log_level(right).is_ok(), "{right}");
        }
        for wrong in ["wran", "verbose", "info,assay_store", "", "3x"] {
            assert!(log_level(wrong).unwrap_err().contains("is not a log level"), "{wrong}");
        }
    }

    #[test]
    fn a_collector_is_a_url_of_a_server() {
        for right in ["http://[::1]:4318", "https://collector.example/base"] {
            assert_eq!(collector(right).unwrap().as_deref(), Some(right));
        }
        for wrong in ["http://", "https://collector:99999", "collector:4318", "http://[::1"] {
            assert!(collector(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for right in ["https://console.example", "http://localhost:3000", "http://[::1]:80"] {
            assert_eq!(origin(right).unwrap(), right);
        }
        for wrong in ["*", "null", "https://", "https://a.example/", "HTTPS://A", "ftp://a"] {
            assert!(origin(wrong).unwrap_err().contains("is not an origin"), "{wrong}");
        }
    }
}
