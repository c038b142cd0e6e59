//! Leaving without a gap: no new connection begins, and none that has begun is reset.

use std::io;

use tokio::net::TcpListener;

/// Lets the kernel ignore attempts to open new connections to `listener`.
///
/// Closing a listener resets the connections that wait in it to be accepted, and between the last
/// accept and the close one more may come. With attempts ignored first, the queue can be emptied in
/// peace. Whoever attempts tries again after a second, by itself, and finds the next server or none.
///
/// # Errors
///
/// Where the system knows no such filter.
#[cfg(target_os = "linux")]
pub fn ignore_new_connections(listener: &TcpListener) -> io::Result<()> {
    use socket2::{SockFilter, SockRef};

    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_BITS_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    /// Byte of a TCP header in which its flags are, and the flag that opens a connection (RFC 9293).
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

/// Elsewhere a moment remains in which a connection may be lost.
#[cfg(not(target_os = "linux"))]
pub fn ignore_new_connections(_: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
