//! The page on security states the rights, users and pods of the chart.

use std::collections::{BTreeMap, BTreeSet};

use assay_tests::{
    Helm,
    security::{DescribedPod, expect_part},
};
use serde_json::{Value, json};

use crate::{
    file,
    rendered::{documents, objects, of_kind, pod_name},
    text,
};

const PAGE: &str = "docs/security.md";

/// A resource with its group, and the names to which a right is restricted.
type Resource = String;
/// The verbs on each resource, by column of the table.
type Verbs = BTreeMap<Resource, BTreeMap<usize, BTreeSet<String>>>;

/// Adds the rules of a role in a column.
fn add(verbs: &mut Verbs, column: usize, role: &Value) {
    let texts = |rule: &Value, name: &str| -> Vec<String> {
        serde_json::from_value(rule[name].clone()).unwrap_or_default()
    };
    for rule in role["rules"].as_array().unwrap() {
        let names = texts(rule, "resourceNames").join(", ");
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                let (plural, part) = resource.split_once('/').unwrap_or((&resource, ""));
                let dotted = [plural, &group].into_iter().filter(|part| !part.is_empty());
                let mut name = dotted.collect::<Vec<_>>().join(".");
                if !part.is_empty() {
                    name = format!("{name}/{part}");
                }
                name = format!("`{name}`");
                if !names.is_empty() {
                    name = format!("{name} named `{names}`");
                }
                let cell = verbs.entry(name).or_default().entry(column).or_default();
                cell.extend(texts(rule, "verbs"));
            }
        }
    }
}

fn table(heads: &[&str], verbs: &Verbs) -> String {
    let head = format!("| resource | {} |\n", heads.join(" | "));
    let line = format!("|---|{}\n", "---|".repeat(heads.len()));
    // Resources with the same rights share a row.
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for (resource, cells) in verbs {
        let cells = (0..heads.len()).map(|column| {
            let verbs = cells.get(&column).into_iter().flatten();
            verbs.map(String::as_str).collect::<Vec<_>>().join(", ")
        });
        let cells = cells.collect::<Vec<_>>().join(" | ");
        match rows.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, resources)) => resources.push(resource),
            None => rows.push((cells, vec![resource])),
        }
    }
    let rows = rows.iter().map(|(cells, all)| format!("| {} | {cells} |\n", all.join(", ")));
    [head, line].into_iter().chain(rows).collect()
}

/// The role of a kind in a file of the operator.
fn role(name: &str, kind: &str) -> Value {
    let all = documents(&text(&format!("operator/{name}.yaml")));
    of_kind(&all, kind)[0].clone()
}

#[test]
fn the_generated_tables_of_the_operators_rights() {
    let mut verbs = Verbs::new();
    add(&mut verbs, 0, &role("rights", "ClusterRole"));
    add(&mut verbs, 1, &role("rights", "Role"));
    let heads = ["in the cluster and in every namespace", "in its own namespace besides"];
    expect_part(&file(PAGE), "rights of the scope cluster", &table(&heads, &verbs));

    let mut verbs = Verbs::new();
    add(&mut verbs, 0, &role("rights-namespaced", "ClusterRole"));
    add(&mut verbs, 1, &role("rights-namespaced", "Role"));
    add(&mut verbs, 2, &role("rights-tenant", "Role"));
    let heads =
        ["in the cluster", "in its own namespace", "in its own namespace and the listed ones"];
    expect_part(&file(PAGE), "rights of the scope namespaces", &table(&heads, &verbs));
}

#[test]
#[ignore = "needs Helm"]
fn the_generated_tables_of_users_and_of_the_pods_of_the_chart() {
    let rendered = objects(&Helm::find(), &[]);
    let mut users = Verbs::new();
    let mut heads = Vec::new();
    for role in of_kind(&rendered, "ClusterRole") {
        let labels = role["metadata"]["labels"].as_object().unwrap();
        let prefix = "rbac.authorization.k8s.io/aggregate-to-";
        let to: Vec<String> = labels
            .keys()
            .filter_map(|label| label.strip_prefix(prefix))
            .map(|name| format!("`{name}`"))
            .collect();
        if !to.is_empty() {
            add(&mut users, heads.len(), role);
            heads.push(to.join(" and "));
        }
    }
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    expect_part(&file(PAGE), "users of a namespace", &table(&heads, &users));

    let policies = of_kind(&rendered, "NetworkPolicy");
    let mut rows = String::from(
        "| pod | API server | Secrets (keys) | incoming connections | outgoing connections |\n|---|---|---|---|---|\n",
    );
    for object in &rendered {
        let template = match object["kind"].as_str().unwrap() {
            "Deployment" | "Job" => object["spec"]["template"].clone(),
            "Pod" => object.clone(),
            _ => continue,
        };
        let name = format!("`{}`", pod_name(object).unwrap());
        rows += &DescribedPod { name: &name, template: &template }.row(&policies);
    }
    let labels = json!({
        "app.kubernetes.io/part-of": "assay", "app.kubernetes.io/managed-by": "assay-operator",
    });
    let created = json!({
        "metadata": {"labels": labels}, "spec": {"automountServiceAccountToken": false},
    });
    let row =
        DescribedPod { name: "those that the operator creates", template: &created }.row(&policies);
    // The next table has their Secrets.
    rows += &row.replace("| none |", "| see below |");
    expect_part(&file(PAGE), "pods of the chart", &rows);
}
