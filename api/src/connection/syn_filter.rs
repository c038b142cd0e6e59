//! Socket filter that drops new connections while a server stops, so that no connection is reset.

use std::io;

use tokio::net::TcpListener;

/// Makes the kernel ignore new connections to `listener`.
///
/// Closing a listener resets the connections in its accept queue, and another connection may arrive between the last
/// accept and the close. If the kernel ignores new connections first, the accept queue can be emptied. The kernel of a
/// caller retries the connection after a second, and reaches the next server, if there is one.
///
/// # Errors
///
/// Returns an error if the system does not support socket filters.
#[cfg(target_os = "linux")]
pub fn ignore_new_connections(listener: &TcpListener) -> io::Result<()> {
    use socket2::{SockFilter, SockRef};

    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_BITS_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    /// Offset of the flags in a TCP header, and the flag that opens a connection (RFC 9293).
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    const IGNORE: u32 = 0;
    const KEEP: u32 = u32::MAX;

    SockRef::from(listener).attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(JUMP_IF_BITS_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, IGNORE),
        SockFilter::new(RETURN, 0, 0, KEEP),
    ])
}

/// The filter is unsupported on systems other than Linux, where a connection may be reset at shutdown.
#[cfg(not(target_os = "linux"))]
pub fn ignore_new_connections(_: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
