//! Checks of a folder's file system and of the process's limits.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use rustix::process::{Resource, getrlimit};

use crate::MappedError;

/// Address space that a process uses in addition to the map, in bytes: code, heap, stacks of threads.
const REST_OF_PROCESS: u64 = 4 << 30;

/// Network file systems, by their names in the table of mounts.
const NETWORK: [&str; 18] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
    "smbfs",
    "virtiofs",
    "vboxsf",
];
/// Network file systems by their magic numbers, for systems without a table of mounts.
const NETWORK_NUMBERS: [(u64, &str); 8] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x0bd0_0bd0, "lustre"),
    (0x5346_414f, "afs"),
];
const FUSE: u64 = 0x6573_5546;
const OVERLAY: u64 = 0x794c_7630;

/// Suitability of a file system for memory maps.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileSystemTrust {
    Local,
    /// The file system is local, but slow, or deleted with the container.
    Doubtful(String),
    Network(String),
}

/// Checks that `folder` is on a local file system, where all processes see the same content of a map.
pub(crate) fn check_local(folder: &Path) -> Result<(), MappedError> {
    let failed = |error| MappedError::File { path: folder.to_owned(), error };
    let number = file_system_number(folder).map_err(failed)?;
    match classify(number, mounted_kind(folder).as_deref()) {
        FileSystemTrust::Local => Ok(()),
        FileSystemTrust::Doubtful(kind) => {
            tracing::warn!(
                folder = %folder.display(), kind,
                "a chain graph is not on a plain local file system: use a volume of its own"
            );
            Ok(())
        }
        FileSystemTrust::Network(kind) => {
            Err(MappedError::Network { path: folder.to_owned(), kind })
        }
    }
}

/// Checks that the process may map `size` bytes.
pub(crate) fn check_address_space(folder: &Path, size: u64) -> Result<(), MappedError> {
    if usize::BITS < 64 {
        return Err(MappedError::AddressBits);
    }
    let wanted = size.saturating_add(REST_OF_PROCESS);
    match getrlimit(Resource::As).current {
        Some(limit) if limit < wanted => {
            Err(MappedError::AddressSpace { path: folder.to_owned(), limit, wanted })
        }
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn file_system_number(folder: &Path) -> io::Result<u64> {
    // The kernel's type is signed on some architectures; the numbers have 32 bits on all.
    let kind = rustix::fs::statfs(folder)?.f_type;
    #[expect(clippy::cast_sign_loss, reason = "a number of 32 bits in a signed type")]
    let number = kind as u64 & 0xffff_ffff;
    Ok(number)
}

#[cfg(not(target_os = "linux"))]
fn file_system_number(_folder: &Path) -> io::Result<u64> {
    Ok(0)
}

/// Type of the file system that holds a folder, from the table of mounts.
fn mounted_kind(folder: &Path) -> Option<String> {
    let device = fs::metadata(folder).ok()?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_of_device(&mounts, &device).map(str::to_owned)
}

/// Type of the file system of a device, as `/proc/self/mountinfo` lists it.
fn kind_of_device<'m>(mounts: &'m str, device: &str) -> Option<&'m str> {
    mounts.lines().find_map(|line| {
        let (place, source) = line.split_once(" - ")?;
        (place.split(' ').nth(2)? == device).then(|| source.split(' ').next()).flatten()
    })
}

fn classify(number: u64, kind: Option<&str>) -> FileSystemTrust {
    if let Some((_, name)) = NETWORK_NUMBERS.iter().find(|(known, _)| *known == number) {
        return FileSystemTrust::Network((*name).to_owned());
    }
    let kind = kind.unwrap_or_default();
    let is_network = |name: &str| NETWORK.contains(&name);
    if is_network(kind) {
        return FileSystemTrust::Network(kind.to_owned());
    }
    match kind.split_once('.') {
        // `fuse.sshfs`, `fuse.s3fs` and others: whoever answers may be anywhere.
        Some(("fuse", _)) => FileSystemTrust::Network(kind.to_owned()),
        _ if kind == "fuseblk" => FileSystemTrust::Doubtful(kind.to_owned()),
        _ if number == FUSE || kind == "fuse" => FileSystemTrust::Network("fuse".to_owned()),
        _ if number == OVERLAY || kind == "overlay" => {
            FileSystemTrust::Doubtful("overlay".to_owned())
        }
        _ => FileSystemTrust::Local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: u64 = 0xef53;

    #[test]
    fn file_systems_of_a_network_are_refused_and_local_ones_are_not() {
        let network = |number, kind| matches!(classify(number, kind), FileSystemTrust::Network(_));
        assert!(network(0x6969, None), "nfs by its number alone");
        assert!(network(0xff53_4d42, Some("cifs")) && network(0, Some("smb3")));
        assert!(network(FUSE, Some("fuse.sshfs")) && network(FUSE, None));
        assert_eq!(classify(EXT4, Some("ext4")), FileSystemTrust::Local);
        assert_eq!(classify(0x0102_1994, Some("tmpfs")), FileSystemTrust::Local);
        assert_eq!(classify(OVERLAY, Some("overlay")), FileSystemTrust::Doubtful("overlay".into()));
        assert_eq!(classify(FUSE, Some("fuseblk")), FileSystemTrust::Doubtful("fuseblk".into()));
    }

    #[test]
    fn the_table_of_mounts_names_a_kind() {
        let mounts = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n\
                      40 22 0:35 / /data rw shared:9 master:2 - fuse.sshfs me@there:/ rw\n";
        assert_eq!(kind_of_device(mounts, "254:0"), Some("ext4"));
        assert_eq!(kind_of_device(mounts, "0:35"), Some("fuse.sshfs"));
        assert_eq!(kind_of_device(mounts, "0:36"), None);
    }

    #[test]
    fn a_limit_on_addresses_is_told() {
        let folder = Path::new("/");
        assert!(check_address_space(folder, 1 << 20).is_ok());
        if getrlimit(Resource::As).current.is_some() {
            assert!(check_address_space(folder, u64::MAX).is_err());
        }
    }
}
