//! Real answers conform to the API's description.

use assay_tests::{Answer, sample};
use serde_json::{Value, json};

/// Checks a body against a schema of the description.
fn conforms(description: &Value, schema: &Value, answer: &Answer) {
    let mut schema = schema.clone();
    schema["components"] = description["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let body = answer.json();
    let errors: Vec<String> = validator
        .iter_errors(&body)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:?} in {body}");
}

#[test]
fn answers_and_problems_have_the_described_shape() {
    // The plan with the larger burst: there are many requests.
    let (server, _, caller) = sample();
    let description = caller.get("/openapi.json").json();
    let answer = |method: &str, path: &str, status: &str| {
        let operation = &description["paths"][path][method];
        let content = operation["responses"][status]["content"].as_object().unwrap();
        content.values().next().unwrap()["schema"].clone()
    };
    let check = "/api/v1/check/address";
    for line in server.greeting().lines().filter(|line| line.starts_with("  ")).skip(2) {
        let mut words = line.split_whitespace();
        let (Some(chain), Some(address)) = (words.next(), words.next()) else { continue };
        let found = caller.check(chain, address);
        assert_eq!(found.status, 200, "{}", found.text);
        conforms(&description, &answer("post", check, "200"), &found);
    }
    let transfer = "/api/v1/check/transfer";
    let request = &description["paths"][transfer]["post"]["requestBody"]["content"];
    let mut deposit = request["application/json"]["example"].clone();
    for direction in ["deposit", "withdrawal"] {
        deposit["direction"] = direction.into();
        let found = caller.post(transfer, &deposit.to_string(), &[]);
        assert_eq!(found.status, 200, "{}", found.text);
        conforms(&description, &answer("post", transfer, "200"), &found);
    }
    for path in ["/api/v1/account", "/api/v1/sources", "/api/v1/signals"] {
        conforms(&description, &answer("get", path, "200"), &caller.get(path));
    }

    let problem = json!({"$ref": "#/components/schemas/ProblemDetails"});
    let stranger = server.caller("not-a-key");
    let problems = [
        stranger.check("btc", "x"),
        caller.check("btc", "x"),
        caller.check("nochain", "x"),
        caller.post(check, "{", &[]),
        caller.post(check, "{}", &[]),
        caller.get(check),
        caller.post(transfer, "{}", &[]),
        caller.post(transfer, &deposit.to_string().replace('0', "1"), &[]),
        caller.get("/api/v1/nothing"),
    ];
    for found in problems {
        assert!(found.status >= 400);
        conforms(&description, &problem, &found);
    }
}
