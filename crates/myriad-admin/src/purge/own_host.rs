//! Check of the requested host against the names of this server. A foreign name may resolve to this machine (DNS
//! rebinding): a browser on this machine then sends requests for that name from loopback, and treats this server as the
//! origin of the foreign page.

use std::net::IpAddr;

use myriad_script::Frame;

use myriad_exchange::exchange::Request;

/// Returns whether the requested host is `localhost`, a loopback address, the local address of the connection, or a
/// name of the server that handles the request. A request without `Host` does not come from a browser and is accepted.
pub fn is_known(request: &Request) -> bool {
    let host = request.route.host.as_slice();
    if host.is_empty() || host == b"localhost" || is_one_of_the_server(request, host) {
        return true;
    }
    // A numeric address is safe: unlike a name, no one can make it resolve to another machine.
    let own = request.received.connection.local().map(|local| local.ip().to_canonical());
    address(host).is_some_and(|ip| ip.is_loopback() || own == Some(ip))
}

fn address(host: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(host).ok()?;
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.unwrap_or(text).parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

fn is_one_of_the_server(request: &Request, host: &[u8]) -> bool {
    let Some(hosts) = request.site.runtime.hosts(&request.received.connection) else { return false };
    matches!(hosts.names.find(host, &mut Frame::default()), Ok(Some(server)) if server == request.route.server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_brackets() {
        assert!(address(b"[::1]").is_some_and(|ip| ip.is_loopback()));
        assert!(address(b"127.9.9.9").is_some_and(|ip| ip.is_loopback()));
        for name in ["127.0.0.1.evil.test", "127.1", "localhost.evil.test", "[::1", ""] {
            assert!(!address(name.as_bytes()).is_some_and(|ip| ip.is_loopback()), "{name}");
        }
    }
}
