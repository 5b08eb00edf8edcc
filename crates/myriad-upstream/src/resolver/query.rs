//! Queries to name servers: both address types concurrently, and the next server after a timeout.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::config::ResolverConfig;
use super::error::ResolveError;
use super::message::{self, Kind, Reply, ServiceRecord};

/// Timeout of a server, as in nginx.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of times a query is sent: half a minute in total.
const MOST_SENDS: usize = 6;
/// Maximum length of a chain of aliases.
const MOST_ALIASES: usize = 16;
/// Maximum length of a reply in bytes.
const MOST_BYTES: usize = 65_535;

/// Result for a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) addresses: Vec<IpAddr>,
    /// Servers, if it is the name of a service.
    pub(crate) servers: Vec<ServiceRecord>,
    /// Validity in seconds.
    pub(crate) ttl_s: u32,
}

/// Resolves a name, following aliases. `first` is the index of the first server.
pub(crate) async fn look_up(
    config: &ResolverConfig,
    first: usize,
    name: &str,
) -> Result<Found, ResolveError> {
    let kinds = [(config.ipv4, Kind::A), (config.ipv6, Kind::Aaaa)];
    let wanted = kinds.into_iter().filter(|(wanted, _)| *wanted).map(|(_, kind)| kind);
    look_up_kinds(config, first, name, &wanted.collect::<Vec<_>>()).await
}

/// Resolves the servers of a service, following aliases.
pub(crate) async fn look_up_service(
    config: &ResolverConfig,
    first: usize,
    name: &str,
) -> Result<Found, ResolveError> {
    look_up_kinds(config, first, name, &[Kind::Srv]).await
}

async fn look_up_kinds(
    config: &ResolverConfig,
    first: usize,
    name: &str,
    kinds: &[Kind],
) -> Result<Found, ResolveError> {
    let Some(zone) = &config.zone else { return follow_aliases(config, first, name, kinds).await };
    let asking = zone.asked(kinds == [Kind::Srv]);
    let answer = follow_aliases(config, first, name, kinds).await;
    asking.answered(&answer);
    answer
}

async fn follow_aliases(
    config: &ResolverConfig,
    first: usize,
    name: &str,
    kinds: &[Kind],
) -> Result<Found, ResolveError> {
    let mut name = name.to_owned();
    let mut shortest = u32::MAX;
    for _ in 0..MOST_ALIASES {
        let (found, alias) = ask(config, first, &name, kinds).await?;
        shortest = shortest.min(found.ttl_s);
        if !found.addresses.is_empty() || !found.servers.is_empty() {
            return Ok(Found { ttl_s: shortest, ..found });
        }
        match alias {
            Some(alias) if message::is_name(&alias) => name = alias,
            _ => return Err(ResolveError::Code(NOT_FOUND)),
        }
    }
    Err(ResolveError::Code(NOT_FOUND))
}

/// NXDOMAIN; also the result for a name without addresses.
const NOT_FOUND: u8 = 3;

/// Query in progress.
struct Asked {
    kind: Kind,
    id: u16,
    reply: Option<Reply>,
}

async fn ask(
    config: &ResolverConfig,
    first: usize,
    name: &str,
    kinds: &[Kind],
) -> Result<(Found, Option<String>), ResolveError> {
    let mut asked: Vec<Asked> =
        kinds.iter().map(|kind| Asked { kind: *kind, id: random_id(), reply: None }).collect();
    for send in 0..MOST_SENDS {
        let server = config.servers[first.wrapping_add(send) % config.servers.len()];
        let until = Instant::now() + PATIENCE;
        if exchange(server, name, &mut asked, until).await.is_err() {
            // The server is unreachable. The next query is delayed to avoid a busy loop on a dead network.
            sleep_until(Instant::now() + Duration::from_millis(200)).await;
        }
        if asked.iter().all(|asked| asked.reply.is_some()) {
            return combine(asked);
        }
    }
    Err(ResolveError::TimedOut)
}

/// Combines the replies. As in nginx, a single error fails the name, and the last reply determines the alias.
fn combine(asked: Vec<Asked>) -> Result<(Found, Option<String>), ResolveError> {
    let mut found = Found { ttl_s: u32::MAX, ..Found::default() };
    let mut name = None;
    for reply in asked.into_iter().filter_map(|asked| asked.reply) {
        match reply {
            Reply::Refused(code) => return Err(ResolveError::Code(code)),
            Reply::Truncated => return Err(ResolveError::TimedOut),
            Reply::Records { addresses, servers, alias, ttl_s } => {
                found.addresses.extend(addresses);
                found.servers.extend(servers);
                found.ttl_s = found.ttl_s.min(ttl_s);
                name = alias;
            }
        }
    }
    Ok((found, name))
}

/// Sends the unanswered queries to a server and collects its replies. Each call uses another port, so that a forger
/// must guess both the port and the query identifier.
async fn exchange(server: SocketAddr, name: &str, asked: &mut [Asked], until: Instant) -> io::Result<()> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    for asked in asked.iter().filter(|asked| asked.reply.is_none()) {
        socket.send(&message::question(asked.id, name, asked.kind)).await?;
    }
    let mut buffer = vec![0; 4096];
    while asked.iter().any(|asked| asked.reply.is_none()) {
        let Ok(received) = timeout_at(until, socket.recv(&mut buffer)).await else { return Ok(()) };
        let bytes = &buffer[..received?];
        let reply = asked.iter_mut().filter(|asked| asked.reply.is_none()).find_map(|asked| {
            let reply = message::reply(bytes, asked.id, name, asked.kind)?;
            Some((asked, reply))
        });
        match reply {
            None => {}
            Some((asked, Reply::Truncated)) => {
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

/// Sends the query over TCP, prefixed with its length (RFC 1035 section 4.2.2).
async fn over_tcp(server: SocketAddr, name: &str, asked: &Asked) -> io::Result<Option<Reply>> {
    let mut stream = TcpStream::connect(server).await?;
    let question = message::question(asked.id, name, asked.kind);
    let mut framed = (question.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(&question);
    stream.write_all(&framed).await?;
    let length = usize::from(stream.read_u16().await?).min(MOST_BYTES);
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    let reply = message::reply(&bytes, asked.id, name, asked.kind);
    Ok(reply.filter(|reply| *reply != Reply::Truncated))
}

/// Returns an unpredictable query identifier.
fn random_id() -> u16 {
    RandomState::new().hash_one(Instant::now()) as u16
}
