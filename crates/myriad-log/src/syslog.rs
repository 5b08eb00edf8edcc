//! Log lines to a syslog server: the datagrams of RFC 3164, as nginx sends them.

use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_conf::settings::{SyslogConf, SyslogServer};
use myriad_http::date;
use parking_lot::Mutex;

use crate::level::Level;
use crate::local_time;

/// A syslog server; a message that it does not take is lost.
#[derive(Debug)]
pub struct Syslog {
    conf: SyslogConf,
    hostname: String,
    /// Asked for once: a name server must not be waited for while a request is logged.
    address: Option<SocketAddr>,
    socket: Mutex<Option<Socket>>,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixDatagram),
    Udp(UdpSocket),
}

impl Syslog {
    /// Finds the server's address. Blocks while a name is looked up.
    ///
    /// # Errors
    /// The server's name cannot be resolved.
    pub fn new(conf: SyslogConf) -> io::Result<Self> {
        let address = match &conf.server {
            SyslogServer::Unix(_) => None,
            SyslogServer::Udp(host, port) => {
                let mut found = (host.as_str(), *port).to_socket_addrs()?;
                Some(found.next().ok_or_else(|| io::Error::other("the name has no address"))?)
            }
        };
        let hostname = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
        Ok(Self { conf, hostname, address, socket: Mutex::new(None) })
    }

    /// Sends an access-log line.
    pub fn send_line(&self, line: &[u8]) {
        self.send(self.conf.severity, line);
    }

    /// Sends an error-log line under the severity of its level.
    pub fn send_error(&self, level: Level, line: &[u8]) {
        self.send(level as u8, line);
    }

    fn send(&self, severity: u8, line: &[u8]) {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        let message = self.message(severity, now_s, line.trim_ascii_end());
        let mut socket = self.socket.lock();
        // The first refusal may be that of an earlier datagram; a server that was started again has another socket.
        for _ in 0..2 {
            if socket.is_none() {
                *socket = self.open().ok();
            }
            match socket.as_ref().map(|socket| socket.send(&message)) {
                Some(Err(error)) if error.kind() != io::ErrorKind::WouldBlock => *socket = None,
                _ => return,
            }
        }
    }

    /// `<PRI>Nov 21 01:02:03 HOST TAG: LINE`.
    fn message(&self, severity: u8, now_s: u64, line: &[u8]) -> Vec<u8> {
        let priority = u32::from(self.conf.facility) * 8 + u32::from(severity);
        // `21/Nov/2026:01:02:03 +0000`
        let time = date::format_time_local(now_s, local_time::offset_minutes(now_s));
        let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&time[range]);
        let day = text(0..2);
        let day = day.strip_prefix('0').map_or_else(|| day.to_string(), |day| format!(" {day}"));
        let mut head = format!("<{priority}>{} {day} {} ", text(3..6), text(12..20));
        if self.conf.hostname {
            head.push_str(&self.hostname);
            head.push(' ');
        }
        // Writing to a String cannot fail.
        let _ = write!(head, "{}: ", self.conf.tag);
        [head.as_bytes(), line].concat()
    }

    fn open(&self) -> io::Result<Socket> {
        match (&self.conf.server, self.address) {
            (SyslogServer::Unix(path), _) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                socket.set_nonblocking(true)?;
                Ok(Socket::Unix(socket))
            }
            (SyslogServer::Udp(..), Some(address)) => {
                let any = match address {
                    SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                    SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
                };
                let socket = UdpSocket::bind((any, 0))?;
                socket.connect(address)?;
                socket.set_nonblocking(true)?;
                Ok(Socket::Udp(socket))
            }
            (SyslogServer::Udp(..), None) => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}

impl Socket {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(socket) => socket.send(message),
            Self::Udp(socket) => socket.send(message),
        }
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(server: SyslogServer) -> SyslogConf {
        SyslogConf { server, facility: 23, severity: 6, tag: "nginx".to_owned(), hostname: false }
    }

    fn received(server: &UdpSocket) -> String {
        let mut buffer = [0; 512];
        let length = server.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn a_message_bears_priority_time_tag_and_line() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let syslog = Syslog::new(conf(SyslogServer::Udp("127.0.0.1".to_owned(), port))).unwrap();
        syslog.send_line(b"GET /\n");
        let message = received(&server);
        assert!(message.starts_with("<190>") && message.ends_with(" nginx: GET /"), "{message}");
        syslog.send_error(Level::Error, b"broken\n");
        assert!(received(&server).starts_with("<187>"));
        let text = String::from_utf8(syslog.message(6, 20_759 * 86_400, b"x")).unwrap();
        assert!(text.starts_with("<190>Nov  2 ") || text.starts_with("<190>Nov  1 "), "{text}");
    }

    #[test]
    fn a_server_that_comes_back_is_found_again() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let syslog = Syslog::new(conf(SyslogServer::Udp("127.0.0.1".to_owned(), address.port()))).unwrap();
        syslog.send_line(b"one");
        assert!(received(&server).ends_with("one"));
        drop(server);
        syslog.send_line(b"lost");
        syslog.send_line(b"lost, too");
        let server = UdpSocket::bind(address).unwrap();
        syslog.send_line(b"two");
        assert!(received(&server).ends_with("two"));
    }
}
