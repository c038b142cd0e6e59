//! Items that other clients added to lists of an object: a container, a port or a volume. Server-side apply leaves them. Pure.

use serde_json::{Value, json};

/// The operations of a JSON patch that remove the items of lists in the spec of `live` that `desired` does not have. Empty if
/// there are none.
pub(super) fn removals(live: &Value, desired: &Value) -> Vec<Value> {
    let mut paths = Vec::new();
    if let (Some(live), Some(desired)) = (live.get("spec"), desired.get("spec")) {
        collect(live, desired, "/spec", &mut paths);
    }
    if paths.is_empty() {
        return paths;
    }
    // Another client may have changed the object since, and an index may name another item.
    let version = live.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
    [test].into_iter().chain(paths).collect()
}

fn collect(live: &Value, desired: &Value, path: &str, removals: &mut Vec<Value>) {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            for (name, desired) in desired {
                if let Some(live) = live.get(name) {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    collect(live, desired, &format!("{path}/{name}"), removals);
                }
            }
            let is_pod = desired.contains_key("containers");
            if is_pod && live.contains_key(FIRST) && !desired.contains_key(FIRST) {
                removals.push(json!({"op": "remove", "path": format!("{path}/{FIRST}")}));
            }
        }
        (Value::Array(live), Value::Array(desired)) => {
            // The last item goes first, so that the indexes of the others stay.
            for (index, item) in live.iter().enumerate().rev() {
                let path = format!("{path}/{index}");
                let Some(key) = key_of(desired) else {
                    // Server-side apply replaces a list without keys as a whole.
                    if let Some(desired) = desired.get(index) {
                        collect(item, desired, &path, removals);
                    }
                    continue;
                };
                match desired.iter().find(|desired| desired.get(key) == item.get(key)) {
                    Some(desired) => collect(item, desired, &path, removals),
                    None => removals.push(json!({"op": "remove", "path": path})),
                }
            }
        }
        _ => {}
    }
}

/// Fields by which Kubernetes tells the items of a list apart.
const KEYS: [&str; 7] = ["mountPath", "name", "containerPort", "port", "ip", "topologyKey", "key"];
/// The field of a pod with the containers that run before, or beside, the others.
const FIRST: &str = "initContainers";

/// The field that tells the items of a list apart. `None` if there is none, or if two items have the same value of it.
fn key_of(items: &[Value]) -> Option<&'static str> {
    let is_key = |key: &&&str| {
        let mut values: Vec<String> =
            items.iter().filter_map(|item| Some(item.get(**key)?.to_string())).collect();
        values.sort();
        values.dedup();
        !items.is_empty() && values.len() == items.len()
    };
    KEYS.iter().find(is_key).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_others_added_are_removed_from_the_last_to_the_first() {
        let desired = json!({"spec": {"template": {"spec": {"containers": [
            {"name": "assay", "args": ["serve"], "ports": [{"containerPort": 8080, "name": "http"}]},
        ]}}, "replicas": 2}});
        let live = json!({
            "metadata": {"resourceVersion": "7", "finalizers": ["another"]},
            "spec": {"template": {"spec": {
                "containers": [
                    {"name": "sidecar"},
                    {"name": "assay", "args": ["serve"], "imagePullPolicy": "Always", "ports": [
                        {"containerPort": 8080, "name": "http", "protocol": "TCP"},
                        {"containerPort": 9, "name": "more"},
                    ]},
                    {"name": "other"},
                ],
                "volumes": [{"name": "default"}],
                "initContainers": [{"name": "first"}],
            }}, "replicas": 2},
        });
        let paths: Vec<Value> =
            removals(&live, &desired).into_iter().map(|removal| removal["path"].clone()).collect();
        let containers = "/spec/template/spec/containers";
        assert_eq!(
            paths,
            [
                "/metadata/resourceVersion".to_owned(),
                format!("{containers}/2"),
                format!("{containers}/1/ports/1"),
                format!("{containers}/0"),
                "/spec/template/spec/initContainers".to_owned(),
            ]
        );
    }

    #[test]
    fn items_without_a_key_are_compared_by_their_places() {
        let spec = |port: u16| {
            json!({"spec": {"egress": [
                {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
                {"ports": [{"port": port, "protocol": "TCP"}]},
            ]}})
        };
        assert_eq!(removals(&spec(443), &spec(443)), Vec::<Value>::new());
    }

    #[test]
    fn what_servers_add_is_no_surplus() {
        let desired =
            json!({"spec": {"ports": [{"port": 80}], "rules": [{"to": [{"ipBlock": {}}]}]}});
        let live = json!({
            "metadata": {"resourceVersion": "7"},
            "spec": {
                "ports": [{"port": 80, "protocol": "TCP"}], "clusterIPs": ["10.0.0.1"],
                "rules": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
            },
        });
        assert_eq!(removals(&live, &desired), Vec::<Value>::new());
    }
}
