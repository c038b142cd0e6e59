//! People who sign in at an issuer of identities: who they are, what they may, and tokens that sign nobody in.

use assay_tests::Answer;

use super::{
    form_token,
    issuer::{Browser, World},
    path_of,
};
use crate::support::wait_until;

const SESSION: &str = "assay-console";

/// The requests of the console and the least role that may send each.
const NEEDED: [(&str, &str, &str); 18] = [
    ("viewer", "GET", "/console"),
    ("viewer", "GET", "/console/search?q=lantern"),
    ("viewer", "GET", "/console/checks"),
    ("viewer", "GET", "/console/checks/x"),
    ("viewer", "GET", "/console/checks/x/flows"),
    ("viewer", "GET", "/console/checks/x/flows.svg"),
    ("viewer", "GET", "/console/checks/x/flows.png"),
    ("viewer", "GET", "/console/check/btc/12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"),
    ("viewer", "GET", "/console/sources"),
    ("viewer", "GET", "/console/chains"),
    ("viewer", "GET", "/console/keys"),
    ("viewer", "GET", "/console/usage"),
    ("viewer", "GET", "/console/policy"),
    ("analyst", "GET", "/console/transfer"),
    ("admin", "POST", "/console/keys"),
    ("admin", "POST", "/console/keys/x/revoke"),
    ("admin", "POST", "/console/sources/uk/enable"),
    ("admin", "POST", "/console/sign-out/everybody"),
];

fn begins_no_session(browser: &Browser, answer: &Answer) {
    assert!(
        !browser.set.iter().any(|field| field.starts_with("assay-console=")),
        "{:?}",
        browser.set
    );
    assert!(!answer.text.contains("Signed in"), "{}", answer.text);
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_person_signs_in_at_the_issuer_and_out() {
    let world = World::new();
    let base = &world.base;
    assert!(!world.server.greeting().contains("Console of"), "no link beside the issuer");

    // Given a person without a session, who asks for a page.
    let mut browser = Browser::default();
    let refused = browser.get(&format!("{base}/console/policy"));
    assert_eq!(refused.status, 401);
    assert!(refused.text.contains("/console/oidc/start?next=%2Fpolicy"), "{}", refused.text);

    // When the person signs in, then the page that was asked for is shown, by the person's name and role.
    let signed_in = world.try_sign_in(&mut browser, Some("ada"), "%2Fpolicy");
    assert_eq!(signed_in.status, 200, "{}", signed_in.text);
    assert!(signed_in.text.contains("content=\"0;url=/console/policy\""), "{}", signed_in.text);
    let [begun] =
        &*browser.set.iter().filter(|it| it.starts_with("assay-console=")).collect::<Vec<_>>()
    else {
        panic!("{:?}", browser.set)
    };
    assert!(begun.contains("HttpOnly") && begun.contains("SameSite=Strict"), "{begun}");
    assert_eq!(browser.cookie(base, "assay-console-sign-in"), None, "the sign-in is over");
    let home = browser.get(&format!("{base}/console"));
    assert!(home.text.contains("ada@business.example, admin"), "{}", home.text);
    assert_eq!(browser.get(&format!("{base}/console/usage")).status, 200);

    // When the person signs out, then the cookie is of no use, and another sign-in begins a new session.
    let stolen = browser.cookies.clone();
    let token = form_token(&home.text).to_owned();
    let out = format!("{base}/console/sign-out");
    assert_eq!(browser.send("POST", &out, "form_token=x").status, 403, "a form of another session");
    assert_eq!(browser.send("POST", &out, &format!("form_token={token}")).status, 200);
    assert_eq!(browser.cookie(base, SESSION), None);
    let mut thief = Browser { cookies: stolen, ..Browser::default() };
    assert_eq!(thief.get(&format!("{base}/console")).status, 401, "replayed after the sign-out");
    let mut browser = Browser::default();
    let page = world.try_sign_in(&mut browser, Some("ben"), "%2F%2Fevil.example");
    assert!(page.text.contains("content=\"0;url=/console\""), "{}", page.text);
    let page = browser.get(&format!("{base}/console"));
    assert!(page.text.contains("&lt;b&gt;ben&lt;/b&gt;, analyst"), "{}", page.text);
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn each_role_may_send_its_requests_alone() {
    let world = World::new();
    let base = &world.base;
    let roles = [("viewer", "vera"), ("analyst", "ben"), ("admin", "ada")];
    for (rank, (role, person)) in roles.into_iter().enumerate() {
        let mut browser = world.sign_in(person);
        for (needed, method, path) in NEEDED {
            let needed_rank = roles.iter().position(|(role, _)| *role == needed).unwrap();
            let answer = match method {
                "GET" => browser.get(&format!("{base}{path}")),
                _ => browser.post(base, path, ""),
            };
            let is_refused = answer.status == 403
                && answer.text.contains(&format!("this needs the role {needed}"));
            assert_eq!(is_refused, rank < needed_rank, "{role} {method} {path}: {}", answer.text);
            let is_of_all = path.contains("/sources/") && !is_refused;
            assert!(
                !is_of_all || answer.text.contains("sources are of all tenants"),
                "{}",
                answer.text
            );
        }
    }
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_viewer_reads_checks_and_makes_none() {
    let world = World::new();
    let base = &world.base;
    let path = path_of("half stolen money, half bought at an exchange");
    let mut viewer = world.sign_in("vera");
    let page = viewer.get(&format!("{base}{path}"));
    assert!(page.text.contains("you see earlier checks, and make none"), "{}", page.text);
    assert!(!page.text.contains("/console/transfer\"") && !page.text.contains("<b>review</b>"));
    let usage = viewer.get(&format!("{base}/console/usage"));
    assert!(usage.text.contains("0 checks in the last 30 days"), "{}", usage.text);

    // What an analyst of the same tenant checked, the viewer sees, and nobody of another tenant.
    let mut analyst = world.sign_in("ben");
    assert_eq!(analyst.get(&format!("{base}{path}")).status, 200);
    wait_until("the check is found", || {
        viewer.get(&format!("{base}{path}")).text.contains("href=\"/console/checks/")
    });
    let listed = viewer.get(&format!("{base}{path}")).text;
    let (_, rest) = listed.split_once("href=\"/console/checks/").unwrap();
    let check = format!("{base}/console/checks/{}", rest.split('"').next().unwrap());
    assert_eq!(viewer.get(&check).status, 200);
    let mut other = world.sign_in("eve");
    assert_eq!(other.get(&check).status, 404);
    assert!(!other.get(&format!("{base}/console/checks")).text.contains("href=\"/console/checks/"));
    let usage = analyst.get(&format!("{base}/console/usage")).text;
    assert!(usage.contains("1 check in the last 30 days"), "{usage}");
    assert!(usage.contains("<td>&lt;b&gt;ben&lt;/b&gt;</td>"), "by whom: {usage}");
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_wrong_token_signs_nobody_in() {
    let world = World::new();
    for way in [
        "issuer",
        "audience",
        "authorized party",
        "two audiences",
        "not yet valid",
        "nonce",
        "no nonce",
        "expired",
        "old",
        "future",
        "stranger's key",
        "unsigned",
        "symmetric",
        "no token",
    ] {
        world.issuer.answer_wrongly(way);
        let mut browser = Browser::default();
        let answer = world.try_sign_in(&mut browser, Some("ada"), "%2F");
        assert_eq!(answer.status, 403, "{way}: {}", answer.text);
        begins_no_session(&browser, &answer);
        assert_eq!(browser.get(&format!("{}/console", world.base)).status, 401, "{way}");
    }
    let log = world.server.log();
    assert!(log.contains("the ID token is refused: Invalid issuer"), "{log}");
    // Of several audiences, the authorized party counts.
    for right in ["two audiences of this client", ""] {
        world.issuer.answer_wrongly(right);
        let _ = world.sign_in("ada");
    }

    // Keys that the issuer replaces are read anew; those from before are of no use.
    world.issuer.rotate_keys();
    let _ = world.sign_in("ada");
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn people_whom_no_rule_names_and_who_give_up_are_not_signed_in() {
    let world = World::new();
    for (person, told) in [
        (Some("nora"), "no rule of this server"),
        (Some("mallory"), "tenant does not exist here"),
        (None, "The issuer did not sign you in"),
    ] {
        let mut browser = Browser::default();
        let answer = world.try_sign_in(&mut browser, person, "%2F");
        assert_eq!(answer.status, 403, "{person:?}: {}", answer.text);
        assert!(answer.text.contains(told), "{person:?}: {}", answer.text);
        begins_no_session(&browser, &answer);
    }
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn an_answer_of_the_issuer_is_for_one_browser_and_good_once() {
    let world = World::new();
    let base = &world.base;
    // Given a sign-in whose answer is stopped on its way.
    world.issuer.expect(Some("ada"));
    let mut browser = Browser::default();
    let mut url = format!("{base}/console/oidc/start");
    while !url.contains("/console/oidc/callback?") {
        let answer = browser.send("GET", &url, "");
        let next = answer.header("location");
        url = if next.starts_with('/') {
            format!("{}{next}", world.issuer.url)
        } else {
            next.to_owned()
        };
    }
    // Then no other browser is signed in by it, whether it has begun a sign-in or not,
    let mut victim = Browser::default();
    let refused = victim.get(&url);
    assert_eq!(refused.status, 403);
    begins_no_session(&victim, &refused);
    let _ = victim.send("GET", &format!("{base}/console/oidc/start"), "");
    assert!(victim.cookie(base, "assay-console-sign-in").is_some());
    let refused = victim.get(&url);
    assert!(
        refused.text.contains("not of the sign-in that this browser began last"),
        "{}",
        refused.text
    );
    begins_no_session(&victim, &refused);
    // nor the same browser by a changed state or code,
    let sign_in = browser.cookies.clone();
    for (part, other) in [("state=", "state=0"), ("code=", "code=0")] {
        let mut copy = Browser { cookies: sign_in.clone(), ..Browser::default() };
        let refused = copy.get(&url.replace(part, other));
        assert_eq!(refused.status, 403, "{part}");
        begins_no_session(&copy, &refused);
    }
    // and the browser itself is, once.
    assert_eq!(browser.get(&url).status, 200);
    let mut again = Browser { cookies: sign_in, ..Browser::default() };
    let refused = again.get(&url);
    assert_eq!(refused.status, 403, "{}", refused.text);
    begins_no_session(&again, &refused);
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_caller_whose_codes_are_refused_waits() {
    let world = World::new();
    let base = &world.base;
    // Given a caller who has begun a sign-in, and makes up codes.
    let mut begun = Browser::default();
    let led = begun.send("GET", &format!("{base}/console/oidc/start"), "");
    let (_, rest) = led.header("location").split_once("state=").unwrap();
    let state = rest.split('&').next().unwrap();
    let callback = format!("{base}/console/oidc/callback?code=made-up&state={state}");
    let present =
        || Browser { cookies: begun.cookies.clone(), ..Browser::default() }.get(&callback);
    for _ in 0..30 {
        assert_eq!(present().status, 403);
    }
    // Then the issuer is not asked again within the minute, not even for a right code.
    let refused = [present(), world.try_sign_in(&mut Browser::default(), Some("ada"), "%2F")];
    for answer in refused {
        assert_eq!(answer.status, 429, "{}", answer.text);
        let seconds: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
    }
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_link_of_another_site_checks_nothing_by_a_sign_in() {
    let world = World::new();
    let path = path_of("half stolen money, half bought at an exchange");
    let next = path.strip_prefix("/console").unwrap().replace('/', "%2F");
    // A page that asks for a check is offered, and not opened, after the sign-in;
    let mut browser = Browser::default();
    let page = world.try_sign_in(&mut browser, Some("ada"), &next);
    assert!(page.text.contains(&format!("href=\"{path}\"")), "{}", page.text);
    assert!(!page.text.contains("http-equiv"), "{}", page.text);
    // another site does not choose a page at all.
    let mut led = Browser { site: "cross-site", ..Browser::default() };
    let page = world.try_sign_in(&mut led, Some("ada"), &next);
    assert!(page.text.contains("content=\"0;url=/console\""), "{}", page.text);
    let usage = browser.get(&format!("{}/console/usage", world.base)).text;
    assert!(usage.contains("0 checks in the last 30 days"), "{usage}");
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_session_of_before_does_not_become_the_persons() {
    let world = World::new();
    let base = &world.base;
    // Given a browser with the session of somebody else, and one with a planted cookie.
    let mut browser = world.sign_in("ben");
    let before = browser.cookies.clone();
    let _ = world.try_sign_in(&mut browser, Some("ada"), "%2F");
    let mut thief = Browser { cookies: before, ..Browser::default() };
    assert_eq!(thief.get(&format!("{base}/console")).status, 401);
    let planted = format!("sample-business.{}", "12".repeat(32));
    let key = (base.clone(), SESSION.to_owned());
    let mut victim = Browser::default();
    victim.cookies.insert(key.clone(), planted.clone());
    let _ = world.try_sign_in(&mut victim, Some("ada"), "%2F");
    assert_ne!(victim.cookies[&key], planted);
    let mut thief = Browser::default();
    thief.cookies.insert(key.clone(), planted);
    assert_eq!(thief.get(&format!("{base}/console")).status, 401);
    // A cookie that names another tenant finds no session.
    let moved = victim.cookies[&key].replace("sample-business", "sample-enterprise");
    thief.cookies.insert(key, moved);
    assert_eq!(thief.get(&format!("{base}/console")).status, 401);
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn a_person_signs_out_everywhere_and_an_admin_everybody() {
    let world = World::new();
    let home = format!("{}/console", world.base);
    let (mut first, mut second) = (world.sign_in("ben"), world.sign_in("ben"));
    let (mut admin, mut other) = (world.sign_in("ada"), world.sign_in("eve"));
    let page = first.get(&format!("{home}/keys"));
    assert!(page.text.contains("3 sessions of this tenant"), "{}", page.text);
    assert!(!page.text.contains("Create key") && !page.text.contains("Sign everybody out"));
    assert_eq!(first.post(&world.base, "/console/sign-out", "&everywhere=on").status, 200);
    assert_eq!(second.get(&home).status, 401);
    assert_eq!(admin.get(&home).status, 200, "another person goes on");

    let mut third = world.sign_in("ben");
    assert_eq!(admin.post(&world.base, "/console/sign-out/everybody", "").status, 200);
    for browser in [&mut third, &mut admin] {
        assert_eq!(browser.get(&home).status, 401);
    }
    assert_eq!(other.get(&home).status, 200, "another tenant goes on");
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn an_admin_makes_and_revokes_keys() {
    let world = World::new();
    let base = &world.base;
    let mut admin = world.sign_in("ada");
    let made = admin.post(base, "/console/keys", "&name=till&check=on&lifetime=");
    assert_eq!(made.status, 200, "{}", made.text);
    let (_, rest) = made.text.split_once("<pre class=\"secret\" tabindex=\"0\">").unwrap();
    let key = rest.split('<').next().unwrap();
    let caller = world.server.caller(key);
    wait_until("the key is known", || caller.get("/api/v1/checks").status == 200);
    let id = key.split('_').nth(2).unwrap();
    let revoked = admin.post(base, &format!("/console/keys/{id}/revoke"), "");
    assert_eq!(revoked.status, 303, "{}", revoked.text);
    assert_eq!(caller.get("/api/v1/checks").status, 401);
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn cookies_are_sent_by_tls_only_where_people_use_it() {
    let world = World::new();
    let base = format!("http://127.0.0.1:{}", assay_tests::free_port());
    let _server = World::server(&world.issuer, &base, "https://risk.example.com");
    let mut browser = Browser::default();
    let answer = browser.send("GET", &format!("{base}/console/oidc/start"), "");
    assert_eq!(answer.status, 303, "{}", answer.text);
    let led = answer.header("location");
    assert!(
        led.contains("redirect_uri=https%3A%2F%2Frisk.example.com%2Fconsole%2Foidc%2Fcallback"),
        "{led}"
    );
    assert!(led.contains("code_challenge_method=S256"), "{led}");
    let [cookie] = &*browser.set else { panic!("{:?}", browser.set) };
    assert!(cookie.starts_with("__Host-assay-console-sign-in="), "{cookie}");
    assert!(cookie.contains("; Secure") && cookie.contains("HttpOnly"), "{cookie}");
    // A session under the name that is used without TLS is none.
    let signed_in = world.sign_in("ada");
    let planted = signed_in.cookie(&world.base, SESSION).unwrap().clone();
    browser.cookies.insert((base.clone(), SESSION.to_owned()), planted);
    assert_eq!(browser.get(&format!("{base}/console")).status, 401);
}

#[test]
#[ignore = "needs OpenID Connect issuer"]
fn sessions_outlive_the_issuer_and_sign_ins_do_not() {
    let World { issuer, server, base } = World::new();
    let world = World { issuer, server, base: base.clone() };
    let mut signed_in = world.sign_in("ada");
    let World { issuer, server: _server, .. } = world;
    drop(issuer);
    assert_eq!(signed_in.get(&format!("{base}/console")).status, 200);
    // The metadata of the issuer is taken as read for a minute; its page is out of reach then.
    let mut browser = Browser::default();
    let answer = browser.send("GET", &format!("{base}/console/oidc/start"), "");
    assert!([303, 503].contains(&answer.status), "{}", answer.text);
    let callback = format!("{base}/console/oidc/callback?code=x&state=");
    let attempt = answer.headers.get("location").and_then(|url| url.split("state=").nth(1));
    if let Some(state) = attempt.and_then(|rest| rest.split('&').next()) {
        let refused = browser.get(&format!("{callback}{state}"));
        assert!([403, 503].contains(&refused.status), "{}", refused.text);
        begins_no_session(&browser, &refused);
    }
}
