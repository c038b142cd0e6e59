//! Hosts outside of the cluster: volumes of the node, and servers that pods reach through it.

use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    thread,
};

use tempfile::TempDir;

use crate::world::World;

/// Forwards connections to a program that listens on loopback only, while the test runs.
pub(crate) fn forward(listener: TcpListener, to: SocketAddr) {
    let copy = |from: &TcpStream, to: &TcpStream| {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.flush();
            let _ = to.shutdown(std::net::Shutdown::Write);
        })
    };
    thread::spawn(move || {
        for caller in listener.incoming().map_while(Result::ok) {
            let Ok(program) = TcpStream::connect(to) else { continue };
            let _ = copy(&caller, &program);
            let _ = copy(&program, &caller);
        }
    });
}

/// Serves a file by HTTP, at any path, while the test runs.
pub(crate) fn serve(listener: TcpListener, file: impl Into<Vec<u8>>) {
    let file = file.into();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let length = file.len();
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}");
            let _ = stream.write_all(format!("{head}\r\n\r\n").as_bytes());
            let _ = stream.write_all(&file);
        }
    });
}

/// A version of OFAC's list with one address.
pub(crate) fn list_of(address: &str) -> String {
    format!("list,entity_id,entity,asset_code,address\nofac-sdn,1,Somebody,XBT,{address}\n")
}

impl World {
    /// Creates volumes that any pod may claim for a storage class (empty: none), of folders that any user may write.
    pub(crate) fn volumes(&self, count: usize, class: &str) -> Vec<TempDir> {
        (0..count).map(|number| self.volume(&format!("volume-{number}"), class)).collect()
    }

    fn volume(&self, name: &str, class: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        self.cluster.apply(&format!(
            "
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  capacity: {{storage: 1Ti}}
  accessModes: [ReadWriteOnce]
  storageClassName: '{class}'
  hostPath: {{path: {}, type: Directory}}
",
            folder.path().display()
        ));
        folder
    }
}
