//! Starts the control plane: etcd, API server, controllers, scheduler.

use super::{Cluster, PATIENCE, node, pki};
use crate::wait_at_most;

impl Cluster {
    /// Starts the API server and waits until it serves.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not serve in time.
    pub fn start_server(&mut self) {
        let ports = self.ports;
        let file = |name: &str| self.file(name);
        let mut arguments = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
            format!("--secure-port={}", ports.server),
            format!("--tls-cert-file={}", file("server.pem")),
            format!("--tls-private-key-file={}", file("server.key")),
            format!("--client-ca-file={}", file("ca.pem")),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
            format!("--service-account-signing-key-file={}", file("accounts.key")),
            format!("--service-account-key-file={}", file("accounts.pub")),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            "--authorization-mode=Node,RBAC".into(),
            // Otherwise it refuses privileged containers by itself.
            "--allow-privileged=true".into(),
            // The second plugin prevents an account without the right from setting owner references
            // that block a deletion.
            "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement"
                .into(),
            format!("--audit-policy-file={}", file("audit.yaml")),
            format!("--audit-log-path={}", file(AUDIT)),
            // The audit log is read as one file and never rotated.
            "--audit-log-maxsize=100000".into(),
            format!("--kubelet-client-certificate={}", file("admin.pem")),
            format!("--kubelet-client-key={}", file("admin.key")),
            "--kubelet-preferred-address-types=InternalIP".into(),
        ];
        if self.node.is_some() {
            arguments.extend(node::server_arguments(file));
        } else {
            // Without the last two it looks for another address than the loopback's.
            let loopback = ["bind-address=127.0.0.1", "advertise-address=127.0.0.1"];
            arguments.extend(loopback.map(|argument| format!("--{argument}")));
            arguments.push("--endpoint-reconciler-type=none".into());
        }
        self.run("kube-apiserver", &arguments);
        wait_at_most(PATIENCE, "the API server", || {
            self.process_guard.check("kube-apiserver", &self.directory);
            self.try_kubectl(&["get", "--raw", "/readyz"]).code == 0
        });
    }

    pub(super) fn start_etcd(&mut self) {
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

    pub(super) fn start_controllers(&mut self) {
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
        self.run("kube-controller-manager", &controllers);
        self.run("kube-scheduler", &scheduler);
    }

    /// Writes the files of the programs: keys, certificates, and kubeconfigs of clients.
    pub(super) fn write_files(&self) {
        pki::write(&self.directory);
        self.write("audit.yaml", AUDIT_POLICY);
        for name in ["admin", "controllers", "scheduler", "node", "proxy"] {
            let [certificate, key] = ["pem", "key"].map(|end| self.file(&format!("{name}.{end}")));
            let text =
                self.config(&format!("client-certificate: {certificate}, client-key: {key}"));
            self.write(&format!("{name}.kubeconfig"), &text);
        }
    }
}

/// File in which the API server records requests.
pub(super) const AUDIT: &str = "audit.log";
/// Audit policy: records requests of service accounts outside the cluster's own, and their results.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, userGroups: ['system:serviceaccounts:kube-system']}
  - {level: Metadata, userGroups: ['system:serviceaccounts']}
  - {level: None}
";
