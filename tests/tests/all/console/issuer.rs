//! An issuer of identities on this machine, a server at which people sign in by it, and their browser.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use assay_tests::{Answer, Generators, Server, free_port};
use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::{Agent, http::Request};

/// The claims of each person whom the issuer knows.
pub(super) fn people() -> Value {
    json!({
        "ada": {"groups": ["risk-admins"], "email": "ada@business.example", "email_verified": true},
        "ben": {"groups": ["risk-analysts"], "preferred_username": "<b>ben</b>"},
        "vera": {"groups": ["staff", "risk-viewers"], "preferred_username": "vera"},
        "eve": {"groups": ["org-admins"], "org": "sample-enterprise", "preferred_username": "eve"},
        "nora": {"groups": ["staff"], "preferred_username": "nora"},
        "mallory": {"groups": ["org-admins"], "org": "no-such-tenant", "preferred_username": "mallory"},
    })
}

const RULES: &str = "
rules:
  - {claim: groups, value: risk-admins, tenant: sample-business, role: admin}
  - {claim: groups, value: risk-analysts, tenant: sample-business, role: analyst}
  - {claim: groups, value: risk-viewers, tenant: sample-business, role: viewer}
  - {claim: groups, value: org-admins, tenantClaim: org, role: admin}
";
const SECRET: &str = "a secret of this program at the issuer";

/// A running issuer, which ends with this value.
pub(super) struct Issuer {
    child: Child,
    pub(super) url: String,
}

impl Issuer {
    fn start(redirect: &str) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("issuer/issuer.mjs");
        let mut child = Command::new("node")
            .arg(program)
            .env("MODULES", Generators::issuer_modules())
            .env("REDIRECT", redirect)
            .env("SECRET", SECRET)
            .env("PEOPLE", people().to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "the issuer did not start: {url}");
        Self { child, url: url.trim().to_owned() }
    }

    /// Says who signs in next; nobody gives up the sign-in.
    pub(super) fn expect(&self, person: Option<&str>) {
        self.request(&person.map_or("/as".into(), |person| format!("/as?person={person}")));
    }

    /// Makes the next tokens wrong, or right again.
    pub(super) fn answer_wrongly(&self, way: &str) {
        self.request(&format!("/wrong?way={}", way.replace(' ', "%20")));
    }

    /// Replaces the keys of the issuer.
    pub(super) fn rotate_keys(&self) {
        self.request("/rotate");
    }

    fn request(&self, path: &str) {
        assert_eq!(ureq::get(format!("{}{path}", self.url)).call().unwrap().status(), 200);
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of the demo data set at which people sign in by an issuer.
pub(super) struct World {
    pub(super) issuer: Issuer,
    pub(super) server: Server,
    /// URL of the server.
    pub(super) base: String,
}

impl World {
    pub(super) fn new() -> Self {
        let base = format!("http://127.0.0.1:{}", free_port());
        let issuer = Issuer::start(&format!("{base}/console/oidc/callback"));
        let server = Self::server(&issuer, &base, &base);
        Self { issuer, server, base }
    }

    /// A server that listens at `base`, which people reach at `url`.
    pub(super) fn server(issuer: &Issuer, base: &str, url: &str) -> Server {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let arguments = arguments(&directory, issuer, base, url);
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.push("--sample");
        Server::start(directory, &arguments)
    }

    /// A browser in which a person has signed in.
    pub(super) fn sign_in(&self, person: &str) -> Browser {
        let mut browser = Browser::default();
        let page = self.try_sign_in(&mut browser, Some(person), "%2F");
        assert_eq!(page.status, 200, "{person}: {}", page.text);
        assert!(page.text.contains("<h1>Signed in</h1>"), "{person}: {}", page.text);
        browser
    }

    /// Goes to the issuer and comes back as a person, or as nobody.
    pub(super) fn try_sign_in(
        &self,
        browser: &mut Browser,
        person: Option<&str>,
        next: &str,
    ) -> Answer {
        self.issuer.expect(person);
        browser.get(&format!("{}/console/oidc/start?next={next}", self.base))
    }
}

/// The arguments of a server with an issuer.
pub(super) fn arguments(
    directory: &TempDir,
    issuer: &Issuer,
    base: &str,
    url: &str,
) -> Vec<String> {
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (people, secret) = (file("role-mapping.yaml", RULES), file("client-secret", SECRET));
    let address = base.strip_prefix("http://").unwrap();
    [
        ["--listen", address],
        ["--console-url", url],
        ["--oidc-issuer", &issuer.url],
        ["--oidc-client-id", "assay"],
        ["--oidc-client-secret-file", &secret],
        ["--oidc-role-mapping-file", &people],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// A browser that follows redirections and keeps cookies by host and port.
#[derive(Default)]
pub(super) struct Browser {
    /// Value of each cookie, by origin and name.
    pub(super) cookies: BTreeMap<(String, String), String>,
    /// Fields `Set-Cookie` of the last answers, redirections included.
    pub(super) set: Vec<String>,
    /// Value of `Sec-Fetch-Site`; empty for `none`, that of a person who types the URL.
    pub(super) site: &'static str,
    /// URLs that were asked for, redirections included.
    pub(super) visited: Vec<String>,
}

impl Browser {
    pub(super) fn get(&mut self, url: &str) -> Answer {
        (self.set, self.visited) = (Vec::new(), Vec::new());
        let mut url = url.to_owned();
        loop {
            assert!(self.visited.len() < 20, "redirected in a circle: {:?}", self.visited);
            let answer = self.send("GET", &url, "");
            match answer.headers.get("location") {
                Some(next) if next.starts_with('/') => url = format!("{}{next}", origin(&url)),
                Some(next) => url.clone_from(next),
                None => return answer,
            }
        }
    }

    /// Sends one request, and follows no redirection.
    pub(super) fn send(&mut self, method: &str, url: &str, form: &str) -> Answer {
        self.visited.push(url.to_owned());
        let origin = origin(url).to_owned();
        let mut cookies = String::new();
        for ((of, name), value) in &self.cookies {
            if *of == origin {
                write!(cookies, "{}{name}={value}", if cookies.is_empty() { "" } else { "; " })
                    .unwrap();
            }
        }
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header("cookie", cookies)
            .header("sec-fetch-site", if self.site.is_empty() { "none" } else { self.site })
            .header("content-type", "application/x-www-form-urlencoded");
        let agent = Agent::config_builder().http_status_as_error(false).max_redirects(0).build();
        let agent: Agent = agent.into();
        let mut response = if form.is_empty() {
            agent.run(request.body(()).unwrap()).unwrap()
        } else {
            agent.run(request.body(form).unwrap()).unwrap()
        };
        let fields = response.headers().clone();
        for field in fields.get_all("set-cookie") {
            let field = field.to_str().unwrap();
            self.set.push(field.to_owned());
            let (name, rest) = field.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            let key = (origin.clone(), name.to_owned());
            if value.is_empty() || field.to_lowercase().contains("max-age=0") {
                self.cookies.remove(&key);
            } else {
                self.cookies.insert(key, value.to_owned());
            }
        }
        let read = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
            (name.to_string(), value.to_str().unwrap_or_default().to_owned())
        };
        let headers = fields.iter().map(read).collect();
        let text = response.body_mut().read_to_string().unwrap();
        Answer { status: response.status().as_u16(), headers, text }
    }

    /// The cookie of a server by its name.
    pub(super) fn cookie(&self, base: &str, name: &str) -> Option<&String> {
        self.cookies.get(&(base.to_owned(), name.to_owned()))
    }

    /// Sends a form with the form token of the session.
    pub(super) fn post(&mut self, base: &str, path: &str, fields: &str) -> Answer {
        let page = self.get(&format!("{base}/console/keys"));
        let token = super::form_token(&page.text).to_owned();
        self.send("POST", &format!("{base}{path}"), &format!("form_token={token}{fields}"))
    }
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url.get(host..).and_then(|rest| rest.find('/')).map_or(url, |end| &url[..host + end])
}
