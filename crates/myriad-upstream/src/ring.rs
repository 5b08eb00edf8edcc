//! Consistent hashing (ketama), compatible with nginx and `Cache::Memcached::Fast`: removing a server only moves the
//! keys of that server.

use crate::config::PeerConfig;

use crate::crc32::crc32;

/// Number of points on the consistent-hash ring for each unit of a server's weight, as in nginx.
const POINTS: u32 = 160;

/// Points of all servers on the hash ring, sorted by hash.
#[derive(Debug)]
pub(crate) struct Ring(Vec<Point>);

#[derive(Debug)]
struct Point {
    /// Position of the point on the ring.
    hash: u32,
    /// Index of the first peer of the server; all addresses of a server share its name.
    server: u32,
}

impl Ring {
    /// Creates the ring for the servers of a group; backups have no points.
    pub(crate) fn new(peers: &[PeerConfig]) -> Self {
        let mut points = Vec::new();
        for (index, peer) in peers.iter().enumerate().filter(|(_, peer)| !peer.backup) {
            let first = peers.iter().position(|other| !other.backup && other.name == peer.name);
            let server = first.unwrap_or(index) as u32;
            let (host, port) = host_and_port(&peer.name);
            let mut previous = 0_u32;
            for _ in 0..peer.weight.max(1).saturating_mul(POINTS) {
                previous = crc32(&[host, b"\0", port, &previous.to_le_bytes()]);
                points.push(Point { hash: previous, server });
            }
        }
        points.sort_by_key(|point| point.hash);
        points.dedup_by_key(|point| point.hash);
        Self(points)
    }

    /// Returns the index of the first point of the ring at or after the hash of a key; the number of points if there is
    /// none.
    pub(crate) fn find(&self, key: &[u8]) -> usize {
        let hash = crc32(&[key]);
        self.0.partition_point(|point| point.hash < hash)
    }

    /// Returns the server (index of its first peer) of a point. Indexes wrap around; `None` if the ring is empty.
    pub(crate) fn server(&self, point: usize) -> Option<usize> {
        let point = point.checked_rem(self.0.len())?;
        Some(self.0[point].server as usize)
    }
}

/// Returns host and port of a server name for the hash; the port is empty for a unix socket, and if the text after the
/// last colon is not a number.
fn host_and_port(name: &str) -> (&[u8], &[u8]) {
    if let Some(path) = name.get(..5).filter(|begin| begin.eq_ignore_ascii_case("unix:")).map(|_| &name[5..])
    {
        return (path.as_bytes(), b"");
    }
    match name.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (host.as_bytes(), port.as_bytes())
        }
        _ => (name.as_bytes(), b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::PeerAddress;

    fn peers(count: u16) -> Vec<PeerConfig> {
        (1..=count).map(|port| PeerConfig::new(PeerAddress::Tcp(([127, 0, 0, 1], port).into()))).collect()
    }

    fn servers(ring: &Ring) -> Vec<usize> {
        (0..1000).map(|key: u32| ring.server(ring.find(&key.to_string().into_bytes())).unwrap()).collect()
    }

    #[test]
    fn a_server_that_goes_takes_only_its_own_keys() {
        let (three, two) = (servers(&Ring::new(&peers(3))), servers(&Ring::new(&peers(2))));
        for (before, after) in three.iter().zip(&two) {
            assert!(*before == 2 || before == after);
        }
        for server in 0..3 {
            assert!(three.iter().filter(|other| **other == server).count() > 200);
        }
    }

    #[test]
    fn the_end_of_the_ring_is_its_start() {
        let ring = Ring::new(&peers(2));
        assert_eq!(ring.server(ring.0.len()), ring.server(0));
        assert_eq!(Ring::new(&[]).server(0), None);
    }

    #[test]
    fn names_are_hashed_by_host_and_port() {
        assert_eq!(host_and_port("a.b:80"), (&b"a.b"[..], &b"80"[..]));
        assert_eq!(host_and_port("a.b"), (&b"a.b"[..], &b""[..]));
        assert_eq!(host_and_port("unix:/a:1"), (&b"/a:1"[..], &b""[..]));
    }
}
