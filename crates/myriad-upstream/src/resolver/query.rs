//! Queries to name servers: both address types concurrently; after a timeout, again to the next server.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::config::ResolverConfig;
use super::error::ResolveError;
use super::message::{self, DnsReply, QueryKind, ServiceRecord};

/// Time without a reply after which a DNS query is sent to the next name server, as in nginx.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of times that a DNS query is sent, half a minute in total.
const MAX_SENDS: usize = 6;
/// Maximum number of names in a chain of aliases (CNAME) that is followed.
const MAX_ALIASES: usize = 16;
/// Maximum length of a DNS reply over TCP in bytes.
const MAX_REPLY_BYTES: usize = 65_535;

/// DNS records found for a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResolvedRecords {
    pub(crate) addresses: Vec<IpAddr>,
    /// Service records; empty unless services were queried.
    pub(crate) servers: Vec<ServiceRecord>,
    /// Validity in seconds: the minimum of all TTLs, including those of aliases.
    pub(crate) ttl_s: u32,
}

/// Resolves a name to addresses of the configured types, following aliases. `first` is the index of the first name
/// server, modulo their number. Fails with code 3 if the name has no such address, with the code of a name server's
/// error, and if no name server responds.
pub(crate) async fn look_up(
    config: &ResolverConfig,
    first: usize,
    name: &str,
) -> Result<ResolvedRecords, ResolveError> {
    let kinds = [(config.ipv4, QueryKind::A), (config.ipv6, QueryKind::Aaaa)];
    let wanted = kinds.into_iter().filter(|(wanted, _)| *wanted).map(|(_, kind)| kind);
    look_up_kinds(config, first, name, &wanted.collect::<Vec<_>>()).await
}

/// Resolves a service name to its service records, following aliases. `first` is the index of the first name server,
/// modulo their number. Fails with code 3 if the name has no service record, with the code of a name server's error,
/// and if no name server responds.
pub(crate) async fn look_up_service(
    config: &ResolverConfig,
    first: usize,
    name: &str,
) -> Result<ResolvedRecords, ResolveError> {
    look_up_kinds(config, first, name, &[QueryKind::Srv]).await
}

async fn look_up_kinds(
    config: &ResolverConfig,
    first: usize,
    name: &str,
    kinds: &[QueryKind],
) -> Result<ResolvedRecords, ResolveError> {
    let Some(zone) = &config.zone else { return follow_aliases(config, first, name, kinds).await };
    let asking = zone.begin_query(kinds == [QueryKind::Srv]);
    let answer = follow_aliases(config, first, name, kinds).await;
    asking.finish(&answer);
    answer
}

async fn follow_aliases(
    config: &ResolverConfig,
    first: usize,
    name: &str,
    kinds: &[QueryKind],
) -> Result<ResolvedRecords, ResolveError> {
    let mut name = name.to_owned();
    let mut shortest = u32::MAX;
    for _ in 0..MAX_ALIASES {
        let (found, alias) = send_queries(config, first, &name, kinds).await?;
        shortest = shortest.min(found.ttl_s);
        if !found.addresses.is_empty() || !found.servers.is_empty() {
            return Ok(ResolvedRecords { ttl_s: shortest, ..found });
        }
        match alias {
            Some(alias) if message::is_name(&alias) => name = alias,
            _ => return Err(ResolveError::Code(NOT_FOUND)),
        }
    }
    Err(ResolveError::Code(NOT_FOUND))
}

/// RCODE of a name server for a name that does not exist; also the result for a name without records.
const NOT_FOUND: u8 = 3;

/// Query that was sent to a name server, with its reply if received.
struct DnsQuery {
    kind: QueryKind,
    id: u16,
    reply: Option<DnsReply>,
}

async fn send_queries(
    config: &ResolverConfig,
    first: usize,
    name: &str,
    kinds: &[QueryKind],
) -> Result<(ResolvedRecords, Option<String>), ResolveError> {
    let mut asked: Vec<DnsQuery> =
        kinds.iter().map(|kind| DnsQuery { kind: *kind, id: random_id(), reply: None }).collect();
    for send in 0..MAX_SENDS {
        let server = config.servers[first.wrapping_add(send) % config.servers.len()];
        let until = Instant::now() + SERVER_TIMEOUT;
        if exchange(server, name, &mut asked, until).await.is_err() {
            // The server is unreachable. A pause avoids a busy loop while the network is down.
            sleep_until(Instant::now() + Duration::from_millis(200)).await;
        }
        if asked.iter().all(|asked| asked.reply.is_some()) {
            return combine(asked);
        }
    }
    Err(ResolveError::TimedOut)
}

/// Combines the replies to all queries for a name. As in nginx, a single error fails the name, and the last reply
/// determines the alias.
fn combine(asked: Vec<DnsQuery>) -> Result<(ResolvedRecords, Option<String>), ResolveError> {
    let mut found = ResolvedRecords { ttl_s: u32::MAX, ..ResolvedRecords::default() };
    let mut name = None;
    for reply in asked.into_iter().filter_map(|asked| asked.reply) {
        match reply {
            DnsReply::Refused(code) => return Err(ResolveError::Code(code)),
            DnsReply::Truncated => return Err(ResolveError::TimedOut),
            DnsReply::Records { addresses, servers, alias, ttl_s } => {
                found.addresses.extend(addresses);
                found.servers.extend(servers);
                found.ttl_s = found.ttl_s.min(ttl_s);
                name = alias;
            }
        }
    }
    Ok((found, name))
}

/// Sends the unanswered queries to a name server and stores its replies in `asked`, until `until`. Each call uses
/// another local port, so that a forged reply must guess both the port and the query identifier.
async fn exchange(server: SocketAddr, name: &str, asked: &mut [DnsQuery], until: Instant) -> io::Result<()> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    for asked in asked.iter().filter(|asked| asked.reply.is_none()) {
        socket.send(&message::encode_query(asked.id, name, asked.kind)).await?;
    }
    let mut buffer = vec![0; 4096];
    while asked.iter().any(|asked| asked.reply.is_none()) {
        let Ok(received) = timeout_at(until, socket.recv(&mut buffer)).await else { return Ok(()) };
        let bytes = &buffer[..received?];
        let reply = asked.iter_mut().filter(|asked| asked.reply.is_none()).find_map(|asked| {
            let reply = message::parse_reply(bytes, asked.id, name, asked.kind)?;
            Some((asked, reply))
        });
        match reply {
            None => {}
            Some((asked, DnsReply::Truncated)) => {
                let whole = timeout_at(until, over_tcp(server, name, asked)).await;
                asked.reply = whole.ok().and_then(Result::ok).flatten();
                if asked.reply.is_none() {
                    return Ok(());
                }
            }
            Some((asked, reply)) => asked.reply = Some(reply),
        }
    }
    Ok(())
}

/// Sends a DNS query over TCP, prefixed with its length (RFC 1035 section 4.2.2), and returns the reply; `None` if the
/// reply is invalid or truncated.
async fn over_tcp(server: SocketAddr, name: &str, asked: &DnsQuery) -> io::Result<Option<DnsReply>> {
    let mut stream = TcpStream::connect(server).await?;
    let question = message::encode_query(asked.id, name, asked.kind);
    let mut framed = (question.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(&question);
    stream.write_all(&framed).await?;
    let length = usize::from(stream.read_u16().await?).min(MAX_REPLY_BYTES);
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    let reply = message::parse_reply(&bytes, asked.id, name, asked.kind);
    Ok(reply.filter(|reply| *reply != DnsReply::Truncated))
}

/// Returns an unpredictable identifier for a DNS query.
fn random_id() -> u16 {
    RandomState::new().hash_one(Instant::now()) as u16
}
