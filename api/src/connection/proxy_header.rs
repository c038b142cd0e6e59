//! PROXY protocol, versions 1 and 2: the first bytes of a connection, in which a proxy names its caller.

use std::{io, net::IpAddr};

use tokio::io::{AsyncRead, AsyncReadExt};

/// The beginning of a header of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Longest header of version 1 in bytes, with its end.
const LONGEST_LINE: usize = 107;

/// Reads exactly the PROXY header, and no byte after it. Returns the caller's address; `None` if the proxy connects on
/// its own behalf or does not know the caller.
///
/// # Errors
///
/// Returns an error if the connection does not begin with a header, or ends within the header.
pub(crate) async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Option<IpAddr>> {
    let mut begin = [0; SIGNATURE.len()];
    stream.read_exact(&mut begin).await?;
    if begin == SIGNATURE {
        return read_binary(stream).await;
    }
    if !begin.starts_with(b"PROXY ") {
        return Err(invalid());
    }
    let mut line = begin.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() >= LONGEST_LINE {
            return Err(invalid());
        }
        line.push(stream.read_u8().await?);
    }
    let text = String::from_utf8(line).map_err(|_| invalid())?;
    source_of_line(text.trim_end())
}

/// Returns the caller's address in a PROXY header of version 1.
fn source_of_line(line: &str) -> io::Result<Option<IpAddr>> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["PROXY", "UNKNOWN", ..] => Ok(None),
        ["PROXY", family @ ("TCP4" | "TCP6"), source, _, _, _] => {
            let address: IpAddr = source.parse().map_err(|_| invalid())?;
            if address.is_ipv4() == (*family == "TCP4") {
                Ok(Some(address))
            } else {
                Err(invalid())
            }
        }
        _ => Err(invalid()),
    }
}

async fn read_binary<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Option<IpAddr>> {
    let (version_and_command, family) = (stream.read_u8().await?, stream.read_u8().await?);
    let length = stream.read_u16().await?;
    let mut content = vec![0; usize::from(length)];
    stream.read_exact(&mut content).await?;
    let source = |length: usize| content.get(..length).ok_or_else(invalid);
    match (version_and_command, family >> 4) {
        (0x21, 1) => {
            let octets: [u8; 4] = source(4)?.try_into().map_err(|_| invalid())?;
            Ok(Some(octets.into()))
        }
        (0x21, 2) => {
            let octets: [u8; 16] = source(16)?.try_into().map_err(|_| invalid())?;
            Ok(Some(IpAddr::from(octets).to_canonical()))
        }
        // The proxy connects on its own behalf, or for a caller without an address.
        (0x20 | 0x21, _) => Ok(None),
        _ => Err(invalid()),
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the connection does not begin with a PROXY header")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parsed(bytes: &[u8]) -> Result<(Option<IpAddr>, usize), io::ErrorKind> {
        let mut rest = bytes;
        let address = read(&mut rest).await.map_err(|error| error.kind())?;
        Ok((address, rest.len()))
    }

    fn binary(version_and_command: u8, family: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[version_and_command, family], &length, content, b"GET"].concat()
    }

    #[tokio::test]
    async fn a_header_names_the_caller_and_what_follows_is_left() {
        let four: IpAddr = "192.0.2.7".parse().unwrap();
        let six: IpAddr = "2001:db8::7".parse().unwrap();
        let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\nGET";
        assert_eq!(parsed(line).await, Ok((Some(four), 3)));
        let line = b"PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\nGET";
        assert_eq!(parsed(line).await, Ok((Some(six), 3)));
        assert_eq!(parsed(b"PROXY UNKNOWN\r\nGET").await, Ok((None, 3)));
        let addresses = [192, 0, 2, 7, 198, 51, 100, 1, 220, 4, 1, 187];
        assert_eq!(parsed(&binary(0x21, 0x11, &addresses)).await, Ok((Some(four), 3)));
        let mut addresses = [0; 36];
        addresses[..16]
            .copy_from_slice(&"2001:db8::7".parse::<std::net::Ipv6Addr>().unwrap().octets());
        assert_eq!(parsed(&binary(0x21, 0x21, &addresses)).await, Ok((Some(six), 3)));
        assert_eq!(
            parsed(&binary(0x20, 0, &[])).await,
            Ok((None, 3)),
            "a proxy's own health check"
        );
        assert_eq!(parsed(&binary(0x21, 0x31, &[0; 216])).await, Ok((None, 3)), "a Unix socket");
    }

    #[tokio::test]
    async fn anything_else_is_refused() {
        let long = [b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat();
        for wrong in [
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
            b"PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
            b"PROXY TCP4 192.0.2.7\r\n",
            b"PROXY UDP4 192.0.2.7 192.0.2.8 1 2\r\n",
            &long,
            &binary(0x31, 0x11, &[0; 12]),
            &binary(0x21, 0x11, &[0; 3]),
        ] {
            assert_eq!(parsed(wrong).await, Err(io::ErrorKind::InvalidData));
        }
        assert_eq!(parsed(b"PROXY TCP4").await, Err(io::ErrorKind::UnexpectedEof));
    }
}
