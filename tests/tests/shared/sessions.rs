//! Sessions of people on several servers of one database.

use assay_tests::{Answer, Caller, Server, platform::Platform, wait_at_most};

use crate::support::PATIENCE;

/// Sends a request with a cookie.
fn send(server: &Server, method: &str, path: &str, cookie: &str, form: &str) -> Answer {
    let kind = if form.is_empty() { "" } else { "application/x-www-form-urlencoded" };
    Caller::new(server.api, "").send(
        method,
        path,
        form,
        [("cookie", cookie), ("content-type", kind)],
    )
}

/// The cookie of a session that begins by the newest link of a server.
fn sign_in(server: &Server) -> String {
    let mut cookie = String::new();
    let beginning = format!("Console of acme, good once: http://{}", server.api);
    let _ = wait_at_most(PATIENCE, "a link signs in", || {
        let printed = format!("{}\n{}", server.greeting(), server.output());
        let Some(link) = printed.lines().rev().find_map(|line| line.strip_prefix(&beginning))
        else {
            return false;
        };
        let answer = send(server, "GET", link, "", "");
        let set = answer.headers.get("set-cookie").map_or("", String::as_str);
        set.split(';').next().unwrap_or_default().clone_into(&mut cookie);
        answer.status == 200
    });
    cookie
}

fn status(server: &Server, cookie: &str) -> u16 {
    send(server, "GET", "/console/keys", cookie, "").status
}

#[test]
fn a_session_begins_and_ends_on_all_servers() {
    let platform = Platform::start();
    let servers = platform.servers(2, &platform.key(), &[]);
    let (one, other) = (&servers[0].0, &servers[1].0);
    let (first, second) = (sign_in(one), sign_in(other));
    for cookie in [&first, &second] {
        assert_eq!((status(one, cookie), status(other, cookie)), (200, 200));
    }
    // When a person signs out on one server, then the session is over on the other, at once.
    let page = send(other, "GET", "/console/keys", &first, "").text;
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
    let form = format!("form_token={}", rest.split('"').next().unwrap());
    assert_eq!(send(other, "POST", "/console/sign-out", &first, &form).status, 200);
    assert_eq!((status(one, &first), status(other, &first)), (401, 401));
    assert_eq!(status(one, &second), 200);
}
