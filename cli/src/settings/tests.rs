use super::*;

fn layers(flags: &[(&'static str, &str)], env: &[(&str, &str)], file: &str) -> Layers {
    let mut layers = Layers::default();
    for (name, value) in flags {
        layers.flag(name, Some((*value).to_owned()));
    }
    let env: Vec<(String, String)> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    layers.environment(env.into_iter());
    layers.file("assay.toml", file).unwrap();
    layers
}

#[test]
fn the_defaults_are_right() {
    let settings = CliSettings::resolve(&Layers::default()).unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.cache_bytes, 64 * 1024 * 1024);
    assert_eq!(settings.refresh_interval, Duration::from_millis(250));
}

#[test]
fn flags_override_the_environment_and_the_environment_the_file() {
    let layers = layers(
        &[("listen", "127.0.0.1:1")],
        &[("ASSAY_LISTEN", "127.0.0.1:2"), ("ASSAY_REQUEST_TIMEOUT", "2s")],
        "listen = \"127.0.0.1:3\"\nrequest-timeout = \"3s\"\nmax-connections = 3\n",
    );
    let settings = CliSettings::resolve(&layers).unwrap();
    assert_eq!(settings.listen.port(), 1);
    assert_eq!(settings.request_timeout, Duration::from_secs(2));
    assert_eq!(settings.max_connections, 3);
}

#[test]
fn all_errors_are_reported_at_once_with_their_positions() {
    let layers = layers(
        &[("listen", "here")],
        &[("ASSAY_LOG_FORMAT", "xml"), ("ASSAY_LISTN", "x")],
        "cache-bytes = \"lots\"\ncolour = \"red\"\n[nested]\na = 1\n",
    );
    let problems: Vec<String> =
        CliSettings::resolve(&layers).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "assay.toml: colour: there is no such setting",
            "assay.toml: nested: there is no such setting",
            "ASSAY_LOG_FORMAT: `xml` is neither text nor json",
            "--listen: `here` is not an address and port, such as 127.0.0.1:8080",
            "assay.toml: cache-bytes: `lots` is not a size, such as 64MiB",
        ]
    );
}

#[test]
fn the_redis_url_may_be_in_a_file_and_is_set_once() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let read = |text: &str| {
        std::fs::write(path, text).unwrap();
        let layers = layers(&[("redis-url-file", path)], &[], "");
        let mut settings = CliSettings::resolve(&layers).unwrap();
        settings.read_redis_url().map(|()| settings.redis_url)
    };
    let place = "redis://cache:7000".parse().unwrap();
    assert_eq!(read("redis://cache:7000\n"), Ok(Some(place)));
    let refused = read("http://me:secret@cache").unwrap_err();
    assert!(refused.contains("must begin with redis://") && !refused.contains("secret"));
    assert!(read("").unwrap_err().ends_with("holds no URL"));
    let both = [("redis-url", "redis://cache"), ("redis-url-file", path)];
    let problems = CliSettings::resolve(&layers(&both, &[], "")).unwrap_err();
    assert_eq!(problems[0].message, "redis-url is set too: remove one of them");
}

#[test]
fn the_database_is_set_once() {
    let problems = |flags: &[(&'static str, &str)]| -> Vec<String> {
        let layers = layers(flags, &[], "");
        let problems = CliSettings::resolve(&layers).err().unwrap_or_default();
        problems.iter().map(ToString::to_string).collect()
    };
    let (url, url_file) = (("database-url", "postgres://x/y"), ("database-url-file", "/url"));
    let password = ("database-password-file", "/password");
    assert!(problems(&[url]).is_empty() && problems(&[url_file, password]).is_empty());
    assert_eq!(
        problems(&[url, url_file]),
        ["--database-url-file: database-url is set too: remove one of them"]
    );
    assert_eq!(
        problems(&[password]),
        ["--database-password-file: needs database-url or database-url-file too"]
    );
}

#[test]
fn chain_servers_are_read_from_a_list_and_tls_needs_authorities() {
    let resolve = |flags: &[(&'static str, &str)]| CliSettings::resolve(&layers(flags, &[], ""));
    let problem = |flags: &[(&'static str, &str)]| resolve(flags).unwrap_err()[0].to_string();
    let settings = resolve(&[("chain-servers", "btc=http://one:1, ltc=http://two:2")]).unwrap();
    assert_eq!(settings.chain_servers, ["btc=http://one:1", "ltc=http://two:2"]);
    assert_eq!(settings.chain_servers().unwrap().iter().count(), 2);
    let tls = ("chain-servers", "btc=https://one:1");
    assert_eq!(problem(&[tls]), "--chain-servers: https needs --chain-ca-file too");
    assert!(resolve(&[tls, ("chain-ca-file", "/ca")]).is_ok());
    let problem = problem(&[("chain-servers", "btc")]);
    assert!(problem.starts_with("--chain-servers: `btc` is not CHAIN=URL"), "{problem}");
}

#[test]
fn origins_are_a_list_wherever_they_are_set() {
    let origins = |layers: &Layers| CliSettings::resolve(layers).unwrap().cors_origin;
    let two = ["https://a.example", "http://localhost:3000"];
    let flag = "https://a.example,http://localhost:3000";
    assert_eq!(origins(&layers(&[("cors-origin", flag)], &[], "")), two);
    let file = "cors-origin = [\"https://a.example\", \"http://localhost:3000\"]";
    assert_eq!(origins(&layers(&[], &[], file)), two);
    let wrong = layers(&[("cors-origin", "https://a.example/path")], &[], "");
    let problems = CliSettings::resolve(&wrong).unwrap_err();
    assert!(problems[0].to_string().starts_with("--cors-origin: `https://a.example/path`"));
}

#[test]
fn a_certificate_needs_its_key() {
    let problems = CliSettings::resolve(&layers(&[("tls-cert", "a.pem")], &[], "")).unwrap_err();
    assert_eq!(problems[0].to_string(), "--tls-cert: needs --tls-key too");
}

#[test]
fn people_sign_in_at_an_issuer_by_rules_that_are_set_once() {
    let base = [
        ("listen", "0.0.0.0:8080"),
        ("oidc-issuer", "https://id.example"),
        ("oidc-client-id", "assay"),
        ("console-url", "https://risk.example/"),
        ("oidc-role-mapping-file", "role-mapping.yaml"),
    ];
    let resolve = |flags: &[(&'static str, &str)]| CliSettings::resolve(&layers(flags, &[], ""));
    let settings = resolve(&base).unwrap();
    assert!(settings.has_console(), "beyond loopback, too");
    assert_eq!(settings.console_url.as_deref(), Some("https://risk.example"));
    assert_eq!(settings.oidc_scopes, ["profile", "email"]);
    assert!(!resolve(&base[..1]).unwrap().has_console());
    let off = [&base[..], &[("console", "off")]].concat();
    assert!(!resolve(&off).unwrap().has_console());

    let problem = |flags: &[(&'static str, &str)]| resolve(flags).unwrap_err()[0].to_string();
    for (missing, name) in
        [(2, "oidc-client-id"), (3, "console-url"), (4, "oidc-role-mapping-file")]
    {
        let mut flags = base.to_vec();
        flags.remove(missing);
        assert_eq!(problem(&flags), format!("--oidc-issuer: needs --{name} too"));
    }
    assert_eq!(problem(&base[2..3]), "--oidc-client-id: needs --oidc-issuer too");
    let twice = [&base[..], &[("oidc-role-mapping", "rules: []")]].concat();
    assert_eq!(
        problem(&twice),
        "--oidc-role-mapping: oidc-role-mapping-file is set too: remove one of them"
    );
    for (name, wrong) in
        [("console-url", "https://risk.example/app"), ("oidc-issuer", "id.example")]
    {
        let flags: Vec<_> =
            base.iter().map(|(it, value)| (*it, if *it == name { wrong } else { value })).collect();
        assert!(problem(&flags).contains(&format!("`{wrong}` is")), "{}", problem(&flags));
    }
}

#[test]
fn the_two_listeners_differ() {
    let layers = layers(&[("admin-listen", "127.0.0.1:8080")], &[], "");
    let problems = CliSettings::resolve(&layers).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "--admin-listen: is the address of the API: choose another port"
    );
}
