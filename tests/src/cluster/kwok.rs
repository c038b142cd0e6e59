//! Starts `kwok`, which simulates a node on which pods are only objects.

use std::fs;

use super::Cluster;
use crate::tools::folder_of;

impl Cluster {
    /// Starts `kwok`, and creates the simulated node.
    pub(super) fn start_kwok(&mut self) {
        let mut stages = vec![KWOK.to_owned(), job_fails(), never_ready(), never_pulled()];
        for stage in fs::read_dir(folder_of("kwok").join("stages")).expect("kwok's stages") {
            let path = stage.expect("a stage").path();
            stages.push(fs::read_to_string(path).expect("a stage"));
        }
        stages.push(COMPLETE_HOOKS.to_owned());
        self.write("kwok.yaml", &stages.join("\n---\n"));
        let arguments = [
            format!("--kubeconfig={}", self.file("admin.kubeconfig")),
            format!("--config={}", self.file("kwok.yaml")),
            format!("--server-address=127.0.0.1:{}", self.ports.kwok),
            "--node-ip=127.0.0.1".into(),
            format!("--node-port={}", self.ports.kwok),
        ];
        self.run("kwok", &arguments);
        self.apply(NODE);
    }
}

const KWOK: &str = "\
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  manageAllNodes: false
  manageNodesWithLabelSelector: type=kwok
  nodeLeaseDurationSeconds: 40
  nodeLeaseParallelism: 4
  podPlayStageParallelism: 4
  nodePlayStageParallelism: 4
  cidr: 10.245.0.0/16
  enableDebuggingHandlers: true
";

/// The kwok `Stage` with the next state of pods in a phase, with an owner of a kind and an image of the tests. A stage
/// with a weight precedes stages without one.
fn stage(name: &str, [owner, phase]: [&str; 2], image: &str, state: &str, next: &str) -> String {
    format!(
        "\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: {name}}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  weight: 1
  selector:
    matchExpressions:
      - {{key: .metadata.deletionTimestamp, operator: DoesNotExist}}
      - {{key: .status.phase, operator: In, values: [{phase}]}}
      - {{key: '.metadata.ownerReferences.[].kind', operator: In, values: [{owner}]}}
      - {{key: '.spec.containers.[].image', operator: In, values: ['{image}']}}
  next:
    statusTemplate: |
      containerStatuses:
      - name: assay
        image: {image}
        ready: false
        restartCount: 0
        state: {state}
      phase: {next}
"
    )
}

/// The stage by which the pod of a Job fails, selected by the image's name.
fn job_fails() -> String {
    let failed = "{terminated: {exitCode: 1, reason: Error, message: 'no rights', \
                  startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}}}";
    stage("job-fails", ["Job", "Running"], "assay.test/assay:fails", failed, "Failed")
}

/// The stage by which a server's pod never becomes ready, selected by the image's name; its migration succeeds.
fn never_ready() -> String {
    let runs = "{running: {startedAt: {{ Now | Quote }}}}";
    stage("never-ready", ["ReplicaSet", "Pending"], "assay.test/assay:hangs", runs, "Running")
}

/// The stage by which a server's image cannot be pulled, selected by the image's name; the image of the server's
/// migration can.
fn never_pulled() -> String {
    let waits = "{waiting: {reason: ImagePullBackOff, message: 'no such image'}}";
    stage("never-pulled", ["ReplicaSet", "Pending"], "assay.test/assay:gone", waits, "Pending")
}

const NODE: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: node
  labels: {type: kwok, kubernetes.io/hostname: node, kubernetes.io/os: linux, kubernetes.io/arch: amd64}
status:
  capacity: {cpu: '32', memory: 256Gi, pods: '1000'}
  allocatable: {cpu: '32', memory: 256Gi, pods: '1000'}
";

/// The stage that completes pods of Helm's hooks, which have no owner. By default, kwok completes pods of Jobs only.
const COMPLETE_HOOKS: &str = r#"
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: hook-complete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
      - {key: .status.phase, operator: In, values: [Running]}
      - {key: '.metadata.annotations["helm.sh/hook"]', operator: Exists}
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
        - {type: Ready, status: "False", reason: PodCompleted}
        - {type: ContainersReady, status: "False", reason: PodCompleted}
      containerStatuses:
      {{ range .spec.containers }}
        - name: {{ .name | Quote }}
          image: {{ .image | Quote }}
          ready: false
          restartCount: 0
          state:
            terminated:
              exitCode: 0
              reason: Completed
              startedAt: {{ $now | Quote }}
              finishedAt: {{ $now | Quote }}
      {{ end }}
      phase: Succeeded
"#;
