//! The console over HTTP, from the printed link on.

mod account;
mod browser;
mod hostile;
mod issuer;
mod many_flows;
mod other_tenants;
mod pages;
mod people;
mod sessions;

use std::collections::BTreeMap;

use assay_tests::{Answer, Server};
use ureq::{Agent, http::Request};

use crate::support::wait_until;

/// A person with a browser that keeps a cookie.
struct Person {
    agent: Agent,
    base: String,
    cookie: String,
}

impl Person {
    /// A person without a session.
    fn stranger(server: &Server) -> Self {
        // Redirections carry the cookie, as those of a browser do.
        let agent = Agent::config_builder().http_status_as_error(false).max_redirects(0).build();
        Self { agent: agent.into(), base: format!("http://{}", server.api), cookie: String::new() }
    }

    /// A stranger with a cookie.
    fn with_cookie(server: &Server, cookie: &str) -> Self {
        Self { cookie: cookie.to_owned(), ..Self::stranger(server) }
    }

    /// Signs in by the newest link of a tenant.
    fn sign_in(server: &Server, tenant: &str) -> Self {
        let stranger = Self::stranger(server);
        // A link that was used may be the newest one for a moment.
        let mut answer = stranger.get(&newest_link(server, tenant));
        wait_until("a link signs in", || {
            if answer.status != 200 {
                answer = stranger.get(&newest_link(server, tenant));
            }
            answer.status == 200
        });
        let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        Self { cookie, ..stranger }
    }

    fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    fn get_with(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let answer = self.send("GET", path, "", fields);
        match answer.headers.get("location") {
            Some(next) => self.get_with(next, fields),
            None => answer,
        }
    }

    /// The bytes of a file.
    fn get_bytes(&self, path: &str) -> Vec<u8> {
        let request = Request::builder().uri(format!("{}{path}", self.base));
        let request = request.header("cookie", &self.cookie).body(()).unwrap();
        let mut response = self.agent.run(request).unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.body_mut().read_to_vec().unwrap()
    }

    /// Sends a form.
    fn post(&self, path: &str, form: &str, fields: &[(&str, &str)]) -> Answer {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.send("POST", path, form, &[&[kind], fields].concat())
    }

    fn send(&self, method: &str, path: &str, body: &str, fields: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let cookie = ("cookie", self.cookie.as_str());
        let fields = fields.iter().copied().chain([cookie]);
        for (name, value) in fields.filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        let mut response = if body.is_empty() {
            self.agent.run(request.body(()).unwrap()).unwrap()
        } else {
            self.agent.run(request.body(body).unwrap()).unwrap()
        };
        let headers: BTreeMap<String, String> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        let text = response.body_mut().read_to_string().unwrap();
        Answer { status: response.status().as_u16(), headers, text }
    }
}

/// The path of the check of an example of the demo data set.
fn path_of(description: &str) -> String {
    let examples = assay_sample::examples();
    let example = examples.iter().find(|example| example.description == description).unwrap();
    format!("/console/check/{}/{}", example.address.chain(), example.address)
}

/// The path of the newest link that was printed for a tenant.
fn newest_link(server: &Server, tenant: &str) -> String {
    let beginning = format!("Console of {tenant}, good once: http://{}", server.api);
    let find = || {
        let printed = format!("{}\n{}", server.greeting(), server.output());
        let mut lines = printed.lines().rev();
        lines.find_map(|line| line.strip_prefix(&beginning).map(str::to_owned))
    };
    wait_until("a link is printed", || find().is_some());
    find().unwrap()
}

/// The token of the forms of a page.
fn form_token(page: &str) -> &str {
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
    rest.split('"').next().unwrap()
}
