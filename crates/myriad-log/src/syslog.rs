//! Log lines as datagrams to a syslog server (RFC 3164), in nginx's format.

use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_base::calendar::format_time_local;
use myriad_conf::settings::{LogLevel, SyslogConf, SyslogServer};
use parking_lot::Mutex;

use crate::local_time;
use crate::repeats::RepeatedMessages;

/// Connection to a syslog server. Messages that the socket does not accept immediately are lost.
#[derive(Debug)]
pub struct Syslog {
    conf: SyslogConf,
    hostname: String,
    /// Address of a UDP server, resolved once, so that logging never waits for a name server; `None` for a unix socket.
    address: Option<SocketAddr>,
    socket: Mutex<Option<SyslogSocket>>,
    /// Recent messages of error logs, for the suppression of repetitions.
    pub(crate) repeats: RepeatedMessages,
}

#[derive(Debug)]
enum SyslogSocket {
    Unix(UnixDatagram),
    Udp(UdpSocket),
}

impl Syslog {
    /// Creates the connection and resolves the name of a UDP server, which blocks the thread. The socket is opened with
    /// the first message.
    ///
    /// # Errors
    /// The name cannot be resolved.
    pub fn new(conf: SyslogConf) -> io::Result<Self> {
        let address = match &conf.server {
            SyslogServer::Unix(_) => None,
            SyslogServer::Udp(host, port) => {
                let mut found = (host.as_str(), *port).to_socket_addrs()?;
                Some(found.next().ok_or_else(|| io::Error::other("the name of the server has no address"))?)
            }
        };
        let hostname = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
        Ok(Self { conf, hostname, address, socket: Mutex::new(None), repeats: RepeatedMessages::default() })
    }

    /// Sends an access log line with the severity that the configuration sets. The line is lost if the socket does not
    /// accept it immediately.
    pub fn send_line(&self, line: &[u8]) {
        self.send(self.conf.severity, line);
    }

    /// Sends an error log line with the severity of `level`. The line is lost if the socket does not accept it
    /// immediately.
    pub fn send_error(&self, level: LogLevel, line: &[u8]) {
        self.send(level as u8, line);
    }

    fn send(&self, severity: u8, line: &[u8]) {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        let message = self.message(severity, now_s, line.trim_ascii_end());
        let mut socket = self.socket.lock();
        // Tries twice: the first error may concern an earlier datagram, and a restarted server has another socket.
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

    /// Formats a message as `<PRI>Nov 21 01:02:03 HOST TAG: LINE`, without `HOST` if `nohostname` is set.
    fn message(&self, severity: u8, now_s: u64, line: &[u8]) -> Vec<u8> {
        let priority = u32::from(self.conf.facility) * 8 + u32::from(severity);
        // Format of `time`: `21/Nov/2026:01:02:03 +0000`
        let time = format_time_local(now_s, local_time::offset_minutes(now_s));
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

    fn open(&self) -> io::Result<SyslogSocket> {
        match (&self.conf.server, self.address) {
            (SyslogServer::Unix(path), _) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                socket.set_nonblocking(true)?;
                Ok(SyslogSocket::Unix(socket))
            }
            (SyslogServer::Udp(..), Some(address)) => {
                let any = match address {
                    SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                    SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
                };
                let socket = UdpSocket::bind((any, 0))?;
                socket.connect(address)?;
                socket.set_nonblocking(true)?;
                Ok(SyslogSocket::Udp(socket))
            }
            (SyslogServer::Udp(..), None) => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}

impl SyslogSocket {
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
    use crate::testing::LogTestFolder;

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
        syslog.send_error(LogLevel::Error, b"broken\n");
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

    fn framed(conf: SyslogConf, severity: u8, now_s: u64, line: &[u8]) -> String {
        let syslog = Syslog {
            conf,
            hostname: "www".to_owned(),
            address: None,
            socket: Mutex::new(None),
            repeats: RepeatedMessages::default(),
        };
        String::from_utf8(syslog.message(severity, now_s, line)).unwrap()
    }

    fn nowhere() -> SyslogConf {
        conf(SyslogServer::Unix("/nonexistent/log".to_owned()))
    }

    /// Returns the time at which the local time in the zone of the tests is `seconds`.
    fn local(seconds: u64) -> u64 {
        seconds.wrapping_add_signed(-60 * i64::from(local_time::offset_minutes(seconds)))
    }

    #[test]
    fn a_day_of_one_digit_has_a_space_before_it() {
        // 2026-01-05 09:08:07 and 2026-01-15 09:08:07.
        assert_eq!(framed(nowhere(), 6, local(1_767_604_087), b"x"), "<190>Jan  5 09:08:07 nginx: x");
        assert_eq!(framed(nowhere(), 6, local(1_768_468_087), b"x"), "<190>Jan 15 09:08:07 nginx: x");
    }

    #[test]
    fn the_name_of_the_machine_comes_before_the_tag() {
        let conf = SyslogConf { hostname: true, tag: "site_1".to_owned(), ..nowhere() };
        assert_eq!(framed(conf, 6, local(1_768_468_087), b"GET /"), "<190>Jan 15 09:08:07 www site_1: GET /");
    }

    #[test]
    fn the_priority_is_of_facility_and_severity() {
        for (facility, severity, expected) in [(0, 0, "<0>"), (0, 7, "<7>"), (1, 5, "<13>"), (23, 7, "<191>")]
        {
            let text = framed(SyslogConf { facility, ..nowhere() }, severity, 0, b"x");
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn errors_have_the_severity_of_their_level() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let conf = SyslogConf { facility: 0, ..conf(SyslogServer::Udp("127.0.0.1".to_owned(), port)) };
        let syslog = Syslog::new(conf).unwrap();
        for (level, expected) in [(LogLevel::Emerg, "<0>"), (LogLevel::Warn, "<4>"), (LogLevel::Debug, "<7>")]
        {
            syslog.send_error(level, b"x\n");
            assert!(received(&server).starts_with(expected), "{level:?}");
        }
    }

    #[test]
    fn only_the_end_of_a_line_is_taken_off() {
        let folder = LogTestFolder::new("syslog-bytes");
        let server = UnixDatagram::bind(folder.path("log")).unwrap();
        let path = folder.path("log").to_str().unwrap().to_owned();
        let syslog = Syslog::new(conf(SyslogServer::Unix(path))).unwrap();
        syslog.send_line(b" a \xff\0b\r\n");
        let mut buffer = [0; 512];
        let length = server.recv(&mut buffer).unwrap();
        assert!(buffer[..length].ends_with(b" nginx:  a \xff\0b"), "{:?}", &buffer[..length]);
    }

    #[test]
    fn a_line_that_is_no_text_or_empty_is_a_message() {
        assert!(framed(nowhere(), 6, 0, b"").ends_with(" nginx: "));
        let syslog = Syslog::new(nowhere()).unwrap();
        assert!(syslog.message(6, 0, b"\xfe").ends_with(b": \xfe"));
    }

    #[test]
    fn full_syslog_server_never_blocks_writers() {
        let folder = LogTestFolder::new("syslog-full");
        let server = UnixDatagram::bind(folder.path("log")).unwrap();
        let path = folder.path("log").to_str().unwrap().to_owned();
        let syslog = Syslog::new(conf(SyslogServer::Unix(path))).unwrap();
        // More datagrams than any queue can hold: the rest is lost.
        for _ in 0..10_000 {
            syslog.send_line(b"x");
        }
        server.set_nonblocking(true).unwrap();
        let mut taken = 0;
        while server.recv(&mut [0; 64]).is_ok() {
            taken += 1;
        }
        assert!((1..10_000).contains(&taken), "{taken}");
        // Once the server reads again, new lines are not lost.
        syslog.send_line(b"after");
        let mut buffer = [0; 64];
        let length = server.recv(&mut buffer).unwrap();
        assert!(buffer[..length].ends_with(b"after"));
    }

    #[test]
    fn lines_are_lost_until_there_is_a_server() {
        let folder = LogTestFolder::new("syslog-late");
        let path = folder.path("log").to_str().unwrap().to_owned();
        let syslog = Syslog::new(conf(SyslogServer::Unix(path))).unwrap();
        syslog.send_line(b"lost");
        let server = UnixDatagram::bind(folder.path("log")).unwrap();
        syslog.send_line(b"taken");
        let mut buffer = [0; 64];
        let length = server.recv(&mut buffer).unwrap();
        assert!(buffer[..length].ends_with(b": taken"));
    }
}
