//! Selection of the peer of a `stream` session, and the options of the connection to the peer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use myriad_log::LogLevel;
use myriad_script::Template;
use myriad_tls::OneCertificate;
use myriad_upstream::{
    AddressError, Affinity, Group, GroupConfig, OriginTls, PeerAddress, PeerConfig, PeerStates,
};

use crate::stream::runtime::StreamGroup;
use crate::stream::session::StreamSession;

/// Returns the group for a `proxy_pass` with variables. The value is the name of an `upstream` block, an address, or a
/// host name, which is resolved. The error is the status to close the session with: 502 if the name cannot be resolved,
/// 500 if the value is invalid or cannot be evaluated, or a resolver is missing.
pub(crate) async fn group_for_target(
    session: &StreamSession,
    target: &Template,
) -> Result<Arc<StreamGroup>, u16> {
    let name = session.eval(target).map_err(|_| 500_u16)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let streams = &session.streams;
    if let Some(group) = streams.runtime.groups.get(&name) {
        return Ok(Arc::clone(group));
    }
    match PeerAddress::parse(&name, None) {
        Ok(address) => Ok(cached_group(session, name, || vec![address])),
        Err(AddressError::Host(host)) => resolve_group(session, &name, &host).await,
        Err(AddressError::Port) => {
            session.log(LogLevel::Error, format_args!("no port in upstream \"{name}\""));
            Err(500)
        }
        Err(error) => {
            session.log(LogLevel::Error, format_args!("{error} in upstream \"{name}\""));
            Err(500)
        }
    }
}

async fn resolve_group(session: &StreamSession, name: &str, host: &str) -> Result<Arc<StreamGroup>, u16> {
    let Some((index, timeout_ms)) = session.server().resolver else {
        session.log(LogLevel::Error, format_args!("no resolver defined to resolve {host}"));
        return Err(500);
    };
    // The port is valid: the name was parsed as host and port before.
    let port: u16 = name.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default();
    let resolver = session.streams.resolvers[index].clone();
    match resolver.resolve(host, timeout_ms).await {
        Ok(addresses) => {
            let known = format!("{name} {addresses:?}");
            let peers = || addresses.iter().map(|ip| PeerAddress::Tcp(SocketAddr::new(*ip, port))).collect();
            Ok(cached_group(session, known, peers))
        }
        Err(error) => {
            session.log(LogLevel::Error, format_args!("{host} could not be resolved ({error})"));
            session.attempts.record_unresolved(host);
            Err(502)
        }
    }
}

/// Returns the cached group with this name, or creates and caches a group of the given addresses. Failures do not
/// exclude its peers (`max_fails` is 0).
fn cached_group(
    session: &StreamSession,
    name: String,
    addresses: impl FnOnce() -> Vec<PeerAddress>,
) -> Arc<StreamGroup> {
    let mut known = session.streams.addressed.borrow_mut();
    if let Some(group) = known.get_mut(&name) {
        return Arc::clone(group);
    }
    let peers: Vec<PeerConfig> = addresses()
        .into_iter()
        .map(|address| PeerConfig { max_fails: 0, ..PeerConfig::new(address) })
        .collect();
    let nowhere = PeerAddress::Unix(std::path::PathBuf::new());
    let config = GroupConfig { name: name.clone(), peers, ..GroupConfig::single(nowhere) };
    let group = Arc::new(StreamGroup { group: Group::new(config, &PeerStates::default()), key: None });
    known.insert(name, Arc::clone(&group), 1);
    group
}

/// Returns the value by which the group selects a peer: the key of `hash` (no value if the key cannot be evaluated), or
/// without `hash` the client's IP address, which is 0.0.0.0 if unknown.
pub(crate) fn affinity(session: &StreamSession, group: &StreamGroup) -> Affinity {
    let Some(key) = &group.key else {
        return Affinity::Client(session.client().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
    };
    // If the key cannot be evaluated, any peer is used.
    session.eval(key).map_or(Affinity::None, |key| Affinity::Key(Bytes::from(key)))
}

/// Returns the TLS settings for the connection to a peer; `None` without `proxy_ssl`. The error is the status to close
/// the session with, 500: the server name cannot be evaluated, or the client certificate cannot be loaded.
pub(crate) fn peer_tls(session: &StreamSession) -> Result<Option<OriginTls>, u16> {
    let Some(tls) = &session.server().peer_tls else { return Ok(None) };
    let name = session.eval(&tls.name).map_err(|_| 500_u16)?;
    let name = String::from_utf8_lossy(&name);
    let mut config = Arc::clone(&tls.config);
    if let Some(pair) = &tls.certificate {
        let loaded = pair.load(session, &mut session.frame.borrow_mut()).map_err(|error| {
            session.log(LogLevel::Error, format_args!("{error} while SSL handshaking to upstream"));
            500_u16
        })?;
        if let Some(certified) = loaded {
            Arc::make_mut(&mut config).client_auth_cert_resolver = Arc::new(OneCertificate(certified));
        }
    }
    Ok(Some(OriginTls {
        config,
        name: without_port(&name).into(),
        check: tls.check.clone(),
        // Connections are not reused for other sessions, so the client certificate need not be part of the identity.
        identity: tls.id | 1,
    }))
}

/// Removes the port from a host name or address; an IPv6 address must be in brackets.
fn without_port(name: &str) -> &str {
    let from = name.rfind(']').unwrap_or(0);
    name[from..].find(':').map_or(name, |at| &name[..from + at])
}

/// Returns the local address for the connection to a peer (`proxy_bind`), with port 0 unless it specifies one; `None`
/// without `proxy_bind`, and if the value is empty or `off`. The error is the status to close the session with, 500:
/// the value cannot be evaluated or is not an address.
pub(crate) fn bind_address(session: &StreamSession) -> Result<Option<SocketAddr>, u16> {
    let Some(bind) = &session.server().bind else { return Ok(None) };
    let text = session.eval(bind).map_err(|_| 500_u16)?;
    let text = String::from_utf8_lossy(&text);
    if text.is_empty() || text == "off" {
        return Ok(None);
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let bound = text.parse().or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0)));
    bound.map(Some).map_err(|_| {
        session.log(LogLevel::Error, format_args!("invalid local address \"{text}\""));
        500
    })
}

/// Evaluates `proxy_upload_rate` or `proxy_download_rate` in bytes per second; 0 (no limit) if the value is invalid or
/// cannot be evaluated.
pub(crate) fn eval_rate(session: &StreamSession, rate: &Template) -> u64 {
    let text = session.eval(rate).unwrap_or_default();
    myriad_conf::number::parse_size(&text).unwrap_or(0)
}
