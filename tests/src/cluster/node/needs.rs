//! Requirements of a real node on this machine.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Directory in which Debian keeps the plugins that join pods to a network.
pub(super) const NETWORK_PLUGINS: &str = "/usr/lib/cni";

/// Programs of the system.
const PROGRAMS: [&str; 9] =
    ["containerd", "ctr", "runc", "nft", "iptables", "ip", "unshare", "nsenter", "redis-server"];

/// Returns an error that names the missing requirements of a node, if any.
pub(super) fn check() -> Result<(), String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let of_system = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    if let Some(name) = PROGRAMS.into_iter().find(|name| !of_system(name)) {
        return Err(format!("{name} is not there"));
    }
    if !Path::new(NETWORK_PLUGINS).join("bridge").is_file() {
        return Err(format!("{NETWORK_PLUGINS}/bridge is not there"));
    }
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        return Err("it takes root".into());
    }
    if !Path::new("/sys/fs/cgroup/cpu").is_dir() {
        return Err("it is made for control groups of version 1".into());
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--mount", "--pid", "--fork", "true"]).stderr(Stdio::null());
    if !unshare.status().is_ok_and(|ended| ended.success()) {
        return Err("namespaces cannot be made".into());
    }
    Ok(())
}
