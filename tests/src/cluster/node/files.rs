//! Configuration files of a node's programs.

use std::path::Path;

use super::{ADDRESS, CONTAINERD};
use crate::cluster::Cluster;

impl Cluster {
    /// Writes the configuration files of the node's programs.
    pub(super) fn write_node_files(&self) {
        let directory = self.directory.display();
        let group = self.directory.file_name().map(Path::new).expect("a name").display();
        self.write("admission.yaml", ADMISSION);
        // No name is known outside.
        self.write("resolv.conf", "");
        std::fs::create_dir(self.directory.join("network")).expect("a folder");
        self.write("network/pods.conflist", PODS_NETWORK);
        self.write("containerd.toml", &containerd(&directory.to_string()));
        self.write(
            "kubelet.yaml",
            &format!(
                "{KUBELET}cgroupRoot: /{group}\n\
                 containerRuntimeEndpoint: unix://{CONTAINERD}\n\
                 address: {ADDRESS}\nport: {}\nclusterDNS: [{ADDRESS}]\n\
                 resolvConf: {directory}/resolv.conf\nvolumePluginDir: {directory}/plugins\n\
                 tlsCertFile: {directory}/kubelet.pem\ntlsPrivateKeyFile: {directory}/kubelet.key\n\
                 authentication:\n  anonymous: {{enabled: false}}\n  webhook: {{enabled: true}}\n  \
                 x509: {{clientCAFile: {directory}/ca.pem}}\n",
                self.ports.kubelet
            ),
        );
        self.write(
            "proxy.yaml",
            &format!(
                "{PROXY}healthzBindAddress: 127.0.0.1:{}\nmetricsBindAddress: 127.0.0.1:{}\n\
                 clientConnection: {{kubeconfig: {directory}/proxy.kubeconfig}}\n",
                self.ports.proxy, self.ports.proxy_metrics
            ),
        );
        self.write(
            "Corefile",
            &format!(
                ".:53 {{\n errors\n kubernetes cluster.local in-addr.arpa ip6.arpa {{\n  \
                 kubeconfig {} test\n }}\n}}\n",
                self.file("admin.kubeconfig")
            ),
        );
    }
}

/// Admission configuration: the default pod security labels of every namespace.
const ADMISSION: &str = "\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: restricted, warn: restricted}
";

const PODS_NETWORK: &str = r#"{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": true, "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": "10.244.0.0/24"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}"#;

/// Configuration of containerd, without changes of OOM scores, for which the tests may lack the right.
fn containerd(directory: &str) -> String {
    let plugin = "plugins.\"io.containerd.grpc.v1.cri\"";
    format!(
        "version = 2\nroot = \"{directory}/containerd\"\nstate = \"/run/containerd\"\n\
         [grpc]\naddress = \"{CONTAINERD}\"\n\
         [{plugin}]\nsandbox_image = \"{}\"\nrestrict_oom_score_adj = true\n\
         [{plugin}.cni]\nbin_dir = \"{}\"\nconf_dir = \"{directory}/network\"\n\
         [{plugin}.containerd.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\n\
         [{plugin}.containerd.runtimes.runc.options]\nSystemdCgroup = false\n",
        super::images::PAUSE,
        super::needs::NETWORK_PLUGINS,
    )
}

/// Configuration of the kubelet, which also allows a nearly full disk and control groups of version 1.
const KUBELET: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
healthzPort: 0
authorization: {mode: Webhook}
clusterDomain: cluster.local
failSwapOn: false
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
";

/// Configuration of kube-proxy, which changes no kernel settings of the machine's own network.
const PROXY: &str = "\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: 10.244.0.0/16
hostnameOverride: node
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
";

/// Registration of the API for the resource usage of pods.
pub(super) fn metrics_api(port: u16) -> String {
    format!(
        "\
apiVersion: v1
kind: Service
metadata: {{name: metrics-server, namespace: kube-system}}
spec: {{type: ExternalName, externalName: localhost}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1beta1.metrics.k8s.io}}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {{name: metrics-server, namespace: kube-system, port: {port}}}
"
    )
}
