//! Responses of all addresses of a configuration, compared before and after nginx is replaced.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use myriad_conf::Model;
use myriad_conf::model::{ListenAddress, ListenConf, ServerConf, ServerName};

use myriad_cli::web::{WebClient, WebTarget};

/// Maximum number of checks of addresses; further addresses and servers are not checked.
const MOST: usize = 64;
/// Maximum time after nginx is replaced until an address must respond as before.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum time for a connection to be accepted, in a check that sends no request.
const CONNECT: Duration = Duration::from_secs(5);
const AGENT: &str = "myriad-takeover";

/// Check of one listening address, before and after nginx is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum AddressCheck {
    /// Requests the page `/` of a host.
    Page { at: SocketAddr, tls: bool, host: String },
    /// Tests that a connection is accepted, for `stream` servers and sockets with the PROXY protocol.
    Connection(SocketAddr),
    /// Tests that a socket in the file system accepts a connection.
    Path(Vec<u8>),
}

/// Result of a check: status of the response, connection accepted, or the reason why neither was possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CheckResult {
    Status(u16),
    Connected,
    Nothing(String),
}

/// Returns the checks for the addresses of a configuration, one for each address and server, without duplicates, at
/// most [`MOST`]. Sockets for UDP and QUIC are skipped, and addresses with a host name.
pub(super) fn address_checks(model: &Model) -> Vec<AddressCheck> {
    let (mut seen, mut questions) = (HashSet::new(), Vec::new());
    let of = |servers: &[ServerConf], is_http: bool| -> Vec<AddressCheck> {
        servers
            .iter()
            .flat_map(|server| {
                server.listens.iter().filter_map(move |listen| address_check(server, listen, is_http))
            })
            .collect()
    };
    let http = model.http.iter().flat_map(|block| of(&block.servers, true));
    let stream = model.stream.iter().flat_map(|block| of(&block.servers, false));
    for question in http.chain(stream) {
        if questions.len() < MOST && seen.insert(question.clone()) {
            questions.push(question);
        }
    }
    questions
}

fn address_check(server: &ServerConf, listen: &ListenConf, is_http: bool) -> Option<AddressCheck> {
    let at = match &listen.address {
        ListenAddress::Ip(address) if !listen.quic && !listen.udp => loopback_for(*address),
        ListenAddress::Unix(path) => return Some(AddressCheck::Path(path.clone())),
        _ => return None,
    };
    if !is_http || listen.proxy_protocol {
        return Some(AddressCheck::Connection(at));
    }
    Some(AddressCheck::Page { at, tls: listen.ssl, host: host(server) })
}

/// Replaces the wildcard address `0.0.0.0` or `[::]` by the loopback address of its family.
fn loopback_for(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Returns a host name for requests to a server: its first exact name (except an empty one or `_`), the domain of
/// `.example.com`, or `www.example.com` for `*.example.com`; `localhost` if it has no such name.
fn host(server: &ServerConf) -> String {
    let name = server.names.iter().find_map(|name| match name {
        ServerName::Exact(name) if !name.is_empty() && name != "_" => Some(name.clone()),
        ServerName::Dot(suffix) => Some(suffix.trim_start_matches('.').to_owned()),
        ServerName::WildcardPrefix(suffix) => Some(format!("www{suffix}")),
        _ => None,
    });
    name.unwrap_or_else(|| "localhost".to_owned())
}

impl AddressCheck {
    /// Performs the check once.
    pub(super) fn check_once(&self) -> CheckResult {
        match self {
            Self::Page { at, tls, host } => {
                let scheme = if *tls { "https" } else { "http" };
                let url = WebTarget::parse(&format!("{scheme}://{host}:{}/", at.port()));
                let target =
                    url.or_else(|_| WebTarget::parse(&format!("{scheme}://localhost:{}/", at.port())));
                let asked = target.and_then(|target| {
                    let mut client = WebClient::new(Some(&at.to_string()), AGENT);
                    client.get(&target, &[]).map_err(|error| error.to_string())
                });
                asked.map_or_else(CheckResult::Nothing, |answer| CheckResult::Status(answer.status))
            }
            Self::Connection(at) => connected(TcpStream::connect_timeout(at, CONNECT).map(drop)),
            Self::Path(path) => connected(UnixStream::connect(OsStr::from_bytes(path)).map(drop)),
        }
    }

    /// Repeats the check until its result is not worse than `before`, for at most [`PATIENCE`]: a server needs time to
    /// start.
    fn check_until(&self, before: &CheckResult) -> CheckResult {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let result = self.check_once();
            if !result.is_worse_than(before) || Instant::now() >= deadline {
                return result;
            }
            sleep(PAUSE);
        }
    }
}

impl std::fmt::Display for AddressCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Page { at, tls, host } => {
                write!(f, "{at} ({}://{host}/)", if *tls { "https" } else { "http" })
            }
            Self::Connection(at) => write!(f, "{at}"),
            Self::Path(path) => write!(f, "unix:{}", String::from_utf8_lossy(path)),
        }
    }
}

fn connected(result: std::io::Result<()>) -> CheckResult {
    result.map_or_else(
        |error| CheckResult::Nothing(myriad_cli::pidfile::reason(&error)),
        |()| CheckResult::Connected,
    )
}

impl CheckResult {
    /// Returns whether the result is worse for clients than `before`: no response where there was one, or an error
    /// status (400 or above) of a higher class. No result is worse than no response.
    fn is_worse_than(&self, before: &Self) -> bool {
        match (self, before) {
            (_, Self::Nothing(_)) => false,
            (Self::Nothing(_), _) => true,
            (Self::Status(now), Self::Status(then)) => *now >= 400 && now / 100 > then / 100,
            _ => false,
        }
    }
}

impl std::fmt::Display for CheckResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Connected => f.write_str("accepts connections"),
            Self::Nothing(why) => write!(f, "no response ({why})"),
        }
    }
}

/// Performs all checks before nginx is replaced. If nginx does not run (`ran` is false), the result is that all
/// addresses must accept connections afterwards.
pub(super) fn check_all(questions: &[AddressCheck], ran: bool) -> Vec<CheckResult> {
    let ask = |question: &AddressCheck| if ran { question.check_once() } else { CheckResult::Connected };
    questions.iter().map(ask).collect()
}

/// Repeats all checks after nginx was replaced and prints the results. The error lists the addresses with a worse
/// result than before.
pub(super) fn compare(questions: &[AddressCheck], before: &[CheckResult]) -> Result<(), String> {
    let mut worse = Vec::new();
    for (question, before) in questions.iter().zip(before) {
        let now = question.check_until(before);
        let was = if now == *before || *before == CheckResult::Connected {
            String::new()
        } else {
            format!("; before: {before}")
        };
        println!("  {question}: {now}{was}");
        if now.is_worse_than(before) {
            worse.push(format!("{question}: {now}, before: {before}"));
        }
    }
    if worse.is_empty() { Ok(()) } else { Err(worse.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worse_is_what_takes_a_page_from_visitors() {
        let nothing = || CheckResult::Nothing("refused".into());
        for (now, before, worse) in [
            (CheckResult::Status(200), CheckResult::Status(301), false),
            (CheckResult::Status(404), CheckResult::Status(200), true),
            (CheckResult::Status(404), CheckResult::Status(403), false),
            (CheckResult::Status(502), CheckResult::Status(404), true),
            (CheckResult::Status(404), CheckResult::Status(502), false),
            (nothing(), CheckResult::Status(502), true),
            (nothing(), CheckResult::Connected, true),
            (nothing(), nothing(), false),
            (CheckResult::Status(500), CheckResult::Connected, false),
        ] {
            assert_eq!(now.is_worse_than(&before), worse, "{now} after {before}");
        }
    }
}
