//! A real Kubernetes control plane: etcd, API server, controllers, scheduler; and `kwok`, which plays a
//! node on which pods are only objects. `tests/kubernetes.sh` builds the programs.

mod keeper;
mod pki;
mod programs;

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use assay_test_servers::free_port;

use self::keeper::Keeper;
use crate::{Finished, wait_at_most};

/// How long anything of a cluster may take to come up, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running cluster. It ends with the program that started it.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
    ports: Ports,
    keeper: Keeper,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    etcd_peers: u16,
    server: u16,
    controllers: u16,
    scheduler: u16,
    kwok: u16,
}

impl Cluster {
    /// Starts a cluster with a node that is ready; `None`, with a word about it, where its programs are
    /// not there.
    ///
    /// # Panics
    ///
    /// Where it does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let root = programs::find()?;
        let directory = tempfile::tempdir().expect("a directory").keep();
        let keeper = Keeper::of(&directory);
        let mut cluster = Self { directory, programs: root.join("bin"), ports: ports(), keeper };
        cluster.write_files(&root);
        cluster.start_etcd();
        cluster.start_server();
        cluster.start_others();
        cluster.apply(NODE);
        wait_at_most(PATIENCE, "accounts and the node", || {
            let account = cluster.try_kubectl(&["get", "serviceaccount", "default"]);
            let condition = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
            let node = cluster.try_kubectl(&["get", "node", "node", "-o", condition]);
            account.code == 0 && node.stdout == "True"
        });
        Some(cluster)
    }

    /// The file with which clients reach it, as its administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// Where `kubectl` and the programs of the cluster are.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// What a file says with which a `ServiceAccount` of a namespace reaches it.
    #[must_use]
    pub fn config_of_account(&self, namespace: &str, account: &str) -> String {
        let token =
            self.kubectl(&["create", "token", account, "--namespace", namespace, "--duration=1h"]);
        self.config(&format!("token: {}", token.trim()))
    }

    /// Where its API server is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.server)
    }

    /// Whom its clients trust, as PEM.
    ///
    /// # Panics
    ///
    /// Where the file cannot be read.
    #[must_use]
    pub fn authority(&self) -> String {
        fs::read_to_string(self.file("ca.pem")).expect("the authority")
    }

    fn config(&self, credentials: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n\
             clusters: [{{name: test, cluster: {{server: '{}', \
             certificate-authority: {}}}}}]\n\
             users: [{{name: test, user: {{{credentials}}}}}]\n",
            self.url(),
            self.file("ca.pem"),
        )
    }

    /// Runs `kubectl`.
    ///
    /// # Panics
    ///
    /// Where it fails.
    #[expect(clippy::must_use_candidate, reason = "it is run for what it does")]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let finished = self.try_kubectl(arguments);
        assert_eq!(finished.code, 0, "{arguments:?}: {}{}", finished.stdout, finished.stderr);
        finished.stdout
    }

    /// Runs `kubectl`, which may fail.
    #[must_use]
    pub fn try_kubectl(&self, arguments: &[&str]) -> Finished {
        self.kubectl_with(arguments, "")
    }

    /// Applies YAML.
    ///
    /// # Panics
    ///
    /// Where it is refused.
    #[expect(clippy::must_use_candidate, reason = "it is run for what it does")]
    pub fn apply(&self, yaml: &str) -> String {
        let finished = self.try_apply(yaml);
        assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
        finished.stdout
    }

    /// Applies YAML, which may be refused.
    #[must_use]
    pub fn try_apply(&self, yaml: &str) -> Finished {
        self.kubectl_with(&["apply", "-f", "-"], yaml)
    }

    /// What the API server says of a new object, without keeping it.
    #[must_use]
    pub fn try_create_dry(&self, yaml: &str) -> Finished {
        self.kubectl_with(&["create", "--dry-run=server", "--validate=strict", "-f", "-"], yaml)
    }

    /// An object as JSON.
    ///
    /// # Panics
    ///
    /// Where it is not there.
    #[must_use]
    pub fn get(&self, arguments: &[&str]) -> serde_json::Value {
        let all: Vec<&str> = ["get", "-o", "json"].iter().chain(arguments).copied().collect();
        serde_json::from_str(&self.kubectl(&all)).expect("kubectl prints JSON")
    }

    /// What accounts of services asked of the API server so far, and what came of it, the oldest first.
    ///
    /// # Panics
    ///
    /// Where its record cannot be read.
    #[must_use]
    pub fn audit(&self) -> Vec<serde_json::Value> {
        let record = fs::read_to_string(self.file(AUDIT)).expect("the record");
        // The last line may be half written.
        record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Ends the API server at once, as a crash does.
    pub fn kill_server(&mut self) {
        self.keeper.kill("kube-apiserver");
    }

    /// Starts the API server and waits until it serves.
    ///
    /// # Panics
    ///
    /// Where it does not.
    pub fn start_server(&mut self) {
        let ports = self.ports;
        let file = |name: &str| self.file(name);
        let arguments = [
            format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", ports.server),
            // Without these two it looks for another address than the loopback's.
            "--advertise-address=127.0.0.1".into(),
            "--endpoint-reconciler-type=none".into(),
            format!("--tls-cert-file={}", file("server.pem")),
            format!("--tls-private-key-file={}", file("server.key")),
            format!("--client-ca-file={}", file("ca.pem")),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
            format!("--service-account-signing-key-file={}", file("accounts.key")),
            format!("--service-account-key-file={}", file("accounts.pub")),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            "--authorization-mode=Node,RBAC".into(),
            // The second lets nobody keep an object from going who may not change it.
            "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement"
                .into(),
            format!("--audit-policy-file={}", file("audit.yaml")),
            format!("--audit-log-path={}", file(AUDIT)),
            format!("--kubelet-client-certificate={}", file("admin.pem")),
            format!("--kubelet-client-key={}", file("admin.key")),
            "--kubelet-preferred-address-types=InternalIP".into(),
        ];
        self.run("kube-apiserver", &arguments);
        wait_at_most(PATIENCE, "the API server", || {
            self.keeper.check("kube-apiserver", &self.directory);
            self.try_kubectl(&["get", "--raw", "/readyz"]).code == 0
        });
    }

    fn start_etcd(&mut self) {
        let client = format!("http://127.0.0.1:{}", self.ports.etcd);
        let peers = format!("http://127.0.0.1:{}", self.ports.etcd_peers);
        let arguments = [
            "--name=default".to_owned(),
            format!("--data-dir={}", self.file("etcd")),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
            "--log-level=warn".into(),
            "--unsafe-no-fsync".into(),
        ];
        self.run("etcd", &arguments);
    }

    fn start_others(&mut self) {
        let common = |name: &str, port: u16| {
            let config = self.file(&format!("{name}.kubeconfig"));
            vec![
                format!("--kubeconfig={config}"),
                format!("--authentication-kubeconfig={config}"),
                format!("--authorization-kubeconfig={config}"),
                "--bind-address=127.0.0.1".into(),
                format!("--secure-port={port}"),
                "--leader-elect=false".into(),
                "--kube-api-qps=200".into(),
                "--kube-api-burst=400".into(),
            ]
        };
        let mut controllers = common("controllers", self.ports.controllers);
        controllers.extend([
            format!("--service-account-private-key-file={}", self.file("accounts.key")),
            format!("--root-ca-file={}", self.file("ca.pem")),
            "--use-service-account-credentials=true".into(),
            format!("--cluster-signing-cert-file={}", self.file("ca.pem")),
            format!("--cluster-signing-key-file={}", self.file("ca.key")),
            "--horizontal-pod-autoscaler-sync-period=2s".into(),
        ]);
        let scheduler = common("scheduler", self.ports.scheduler);
        let kwok = [
            format!("--kubeconfig={}", self.file("admin.kubeconfig")),
            format!("--config={}", self.file("kwok.yaml")),
            format!("--server-address=127.0.0.1:{}", self.ports.kwok),
            "--node-ip=127.0.0.1".into(),
            format!("--node-port={}", self.ports.kwok),
        ];
        self.run("kube-controller-manager", &controllers);
        self.run("kube-scheduler", &scheduler);
        self.run("kwok", &kwok);
    }

    /// What the programs read: keys and certificates, how clients reach the server, how nodes are
    /// played.
    fn write_files(&self, root: &Path) {
        pki::write(&self.directory);
        fs::write(self.file("audit.yaml"), AUDIT_POLICY).expect("a file");
        for name in ["admin", "controllers", "scheduler"] {
            let [certificate, key] = ["pem", "key"].map(|end| self.file(&format!("{name}.{end}")));
            let text =
                self.config(&format!("client-certificate: {certificate}, client-key: {key}"));
            fs::write(self.directory.join(format!("{name}.kubeconfig")), text).expect("a file");
        }
        let mut stages = vec![KWOK.to_owned(), JOB_FAILS.to_owned(), NEVER_READY.to_owned()];
        for stage in fs::read_dir(root.join("stages")).expect("kwok's stages") {
            let path = stage.expect("a stage").path();
            stages.push(fs::read_to_string(path).expect("a stage"));
        }
        stages.push(COMPLETE_HOOKS.to_owned());
        fs::write(self.directory.join("kwok.yaml"), stages.join("\n---\n")).expect("a file");
    }

    fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    fn run(&mut self, program: &str, arguments: &[String]) {
        let log = File::create(self.directory.join(format!("{program}.log"))).expect("a log");
        let mut command = Command::new(self.programs.join(program));
        command
            .args(arguments)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        self.keeper.keep(program, command);
    }

    fn kubectl_with(&self, arguments: &[&str], input: &str) -> Finished {
        let mut child: Child = Command::new(self.programs.join("kubectl"))
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", &self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        let mut stdin = child.stdin.take().expect("its input");
        // It may end without reading what it was given.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("kubectl ends").into()
    }
}

fn ports() -> Ports {
    Ports {
        etcd: free_port(),
        etcd_peers: free_port(),
        server: free_port(),
        controllers: free_port(),
        scheduler: free_port(),
        kwok: free_port(),
    }
}

/// Where the API server writes what it was asked.
const AUDIT: &str = "audit.log";
/// Who asked for what, and what came of it, of accounts of services outside the cluster's own.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, userGroups: ['system:serviceaccounts:kube-system']}
  - {level: Metadata, userGroups: ['system:serviceaccounts']}
  - {level: None}
";

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

/// A Job's pod fails where its image says so. What weighs something goes before what weighs nothing.
const JOB_FAILS: &str = "\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: job-fails}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  weight: 1
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
      - {key: .status.phase, operator: In, values: [Running]}
      - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
      - {key: '.spec.containers.[].image', operator: In, values: ['assay.test/assay:fails']}
  next:
    statusTemplate: |
      {{ $now := Now }}
      containerStatuses:
      - name: assay
        image: assay.test/assay:fails
        ready: false
        restartCount: 0
        state:
          terminated: {exitCode: 1, reason: Error, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
      phase: Failed
";

/// A server's pod never answers where its image says so; its migration goes well.
const NEVER_READY: &str = "\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: never-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  weight: 1
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
      - {key: .status.phase, operator: In, values: [Pending]}
      - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [ReplicaSet]}
      - {key: '.spec.containers.[].image', operator: In, values: ['assay.test/assay:hangs']}
  next:
    statusTemplate: |
      containerStatuses:
      - name: assay
        image: assay.test/assay:hangs
        ready: false
        restartCount: 0
        state:
          running: {startedAt: {{ Now | Quote }}}
      phase: Running
";

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

/// kwok completes pods of Jobs only; those of Helm's hooks have no owner.
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
