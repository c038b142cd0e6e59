//! Growth of chain servers' volumes: claims that are too small, and failures of their growth. Pure.

use assay_tenancy::ResourceQuantity;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{PersistentVolumeClaim, VolumeResourceRequirements},
};
use kube::ResourceExt;

use super::build::chain_servers::STORAGE;

/// Prefixes of the types of a claim's conditions that report a failed resize.
const RESIZE_ERRORS: [&str; 2] = ["ControllerResizeError", "NodeResizeError"];

/// The size that a claim requests. `None`: the claim requests no size, or the operator cannot parse it.
fn requested(resources: Option<&VolumeResourceRequirements>) -> Option<ResourceQuantity> {
    resources?.requests.as_ref()?.get(STORAGE)?.0.parse().ok()
}

/// The size of new volumes of a `StatefulSet`.
pub(super) fn template_size(stateful_set: &StatefulSet) -> Option<ResourceQuantity> {
    let templates = stateful_set.spec.as_ref()?.volume_claim_templates.as_ref()?;
    requested(templates.first()?.spec.as_ref()?.resources.as_ref())
}

/// The names of the claims that are smaller than `size`. Larger claims of an earlier source stay.
pub(super) fn undersized_claims(
    claims: &[PersistentVolumeClaim],
    size: ResourceQuantity,
) -> Vec<String> {
    let is_smaller = |claim: &&PersistentVolumeClaim| {
        let spec = claim.spec.as_ref();
        requested(spec.and_then(|spec| spec.resources.as_ref()))
            .is_some_and(|requested| !requested.covers(size))
    };
    claims.iter().filter(is_smaller).map(ResourceExt::name_any).collect()
}

/// The cause for which a claim did not get the requested size. `None`: no claim reports a failure.
pub(super) fn resize_failure(claims: &[PersistentVolumeClaim]) -> Option<String> {
    claims.iter().find_map(|claim| {
        let conditions = claim.status.as_ref()?.conditions.as_ref()?;
        let failed = conditions.iter().find(|condition| {
            RESIZE_ERRORS.contains(&&*condition.type_) && condition.status == "True"
        })?;
        Some(resize_failure_message(
            &claim.name_any(),
            failed.message.as_deref().unwrap_or_default(),
        ))
    })
}

/// The message about a claim that does not grow.
pub(super) fn resize_failure_message(claim: &str, why: &str) -> String {
    format!("PersistentVolumeClaim `{claim}` does not grow: {why}")
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(name: &str, size: &str, status: Value) -> PersistentVolumeClaim {
        let spec = json!({"resources": {"requests": {"storage": size}}});
        let claim = json!({"metadata": {"name": name}, "spec": spec, "status": status});
        serde_json::from_value(claim).unwrap()
    }

    #[test]
    fn claims_grow_and_never_shrink() {
        let claims = [("a", "20Gi"), ("b", "40Gi"), ("c", "1Ti"), ("d", "1e9")];
        let claims = claims.map(|(name, size)| claim(name, size, json!({})));
        let size = |text: &str| text.parse().unwrap();
        assert_eq!(undersized_claims(&claims, size("40Gi")), ["a"]);
        assert_eq!(undersized_claims(&claims, size("2Ti")), ["a", "b", "c"]);
        assert_eq!(undersized_claims(&claims, size("1Gi")), Vec::<String>::new());
    }

    #[test]
    fn a_resize_that_failed_is_named() {
        let status = |kind: &str| json!({"conditions": [{"type": kind, "status": "True", "message": "no space"}]});
        let of =
            |kind| resize_failure(&[claim("a", "1Gi", json!({})), claim("b", "1Gi", status(kind))]);
        assert_eq!(of("Resizing"), None);
        let said = "PersistentVolumeClaim `b` does not grow: no space";
        assert_eq!(of("ControllerResizeError").as_deref(), Some(said));
    }

    #[test]
    fn the_size_of_new_volumes_is_that_of_the_template() {
        let template = json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}});
        let spec = json!({
            "serviceName": "a", "selector": {}, "template": {}, "volumeClaimTemplates": [template],
        });
        let stateful_set = serde_json::from_value(json!({"spec": spec})).unwrap();
        assert_eq!(template_size(&stateful_set), Some(ResourceQuantity::gibibytes(1)));
        assert_eq!(template_size(&StatefulSet::default()), None);
    }
}
