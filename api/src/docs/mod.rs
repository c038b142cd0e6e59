//! Pages for people with a browser: `/`, which says what this server is, and `/docs`, which shows the description of the API
//! and sends requests. They ask no other server.
//!
//! The viewer is Swagger UI 5.35.0 (Apache License 2.0, `swagger-ui/`), as its publisher packs it.

use std::io::Read as _;

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::read::GzDecoder;

/// Page about the server.
const WELCOME: &str = include_str!("welcome.html");
/// Page with the viewer.
const VIEWER: &str = include_str!("viewer.html");

/// Value of `Content-Security-Policy`: pages load scripts, styles and data from this server alone. The viewer sets styles
/// of elements, and draws symbols from text.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                                       img-src 'self' data:; connect-src 'self'; form-action 'none'; \
                                       base-uri 'none'; frame-ancestors 'none'";
/// Value of `Cache-Control` of a file that changes with a release only.
const ONE_HOUR: &str = "public, max-age=3600";

/// A file that the viewer loads.
struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: Content,
}

enum Content {
    Plain(&'static str),
    Packed(&'static [u8]),
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "start.js",
        media_type: "text/javascript; charset=utf-8",
        content: Content::Plain(include_str!("start.js")),
    },
    Asset {
        name: "swagger-ui-bundle.js",
        media_type: "text/javascript; charset=utf-8",
        content: Content::Packed(include_bytes!("swagger-ui/swagger-ui-bundle.js.gz")),
    },
    Asset {
        name: "swagger-ui.css",
        media_type: "text/css; charset=utf-8",
        content: Content::Packed(include_bytes!("swagger-ui/swagger-ui.css.gz")),
    },
];

/// `GET /`: what this server is, and where to go.
pub(crate) async fn welcome() -> Response {
    page(WELCOME)
}

/// `GET /docs`: the description of the API, with forms that send requests.
pub(crate) async fn viewer() -> Response {
    page(VIEWER)
}

/// `GET /docs/{file}`: a file of the viewer.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let described = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(ONE_HOUR)),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    match asset.content {
        Content::Plain(text) => (described, text).into_response(),
        Content::Packed(bytes) if accepts_gzip(&headers) => {
            let packed = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
            (described, packed, bytes).into_response()
        }
        Content::Packed(bytes) => match unpacked(bytes) {
            Ok(bytes) => (described, bytes).into_response(),
            Err(error) => {
                tracing::error!(%error, name, "failed to unpack a file of the viewer");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        },
    }
}

fn page(html: &'static str) -> Response {
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
    ];
    (headers, html).into_response()
}

/// True if a caller lists gzip among the encodings that it reads.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let listed = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = listed.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = weight.trim().trim_start_matches("q=").parse() == Ok(0.0_f32);
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

fn unpacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(codings: &str) -> HeaderMap {
        let value = HeaderValue::from_str(codings).unwrap();
        [(header::ACCEPT_ENCODING, value)].into_iter().collect()
    }

    #[test]
    fn gzip_is_sent_to_those_who_list_it() {
        for codings in ["gzip", "br, GZIP;q=0.5", "deflate, gzip"] {
            assert!(accepts_gzip(&accepting(codings)), "{codings}");
        }
        for codings in ["", "br", "gzip;q=0", "identity"] {
            assert!(!accepts_gzip(&accepting(codings)), "{codings}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    /// Given the pages, then everything that they load is a file of this server.
    #[test]
    fn pages_load_files_of_this_server_only() {
        for page in [WELCOME, VIEWER] {
            let loaded = page.split(['"', '\'']).filter(|it| it.starts_with("docs/"));
            for path in loaded {
                let name = path.trim_start_matches("docs/");
                assert!(ASSETS.iter().any(|asset| asset.name == name), "{path}");
            }
            for attribute in ["src=\"", "<link rel=\"stylesheet\" href=\""] {
                for rest in page.split(attribute).skip(1) {
                    assert!(rest.starts_with("docs/"), "{rest}");
                }
            }
        }
    }

    #[test]
    fn packed_files_are_what_they_are_called() {
        for asset in &ASSETS {
            if let Content::Packed(bytes) = asset.content {
                let text = String::from_utf8(unpacked(bytes).unwrap()).unwrap();
                assert!(text.contains("swagger-ui"), "{}", asset.name);
            }
        }
    }
}
