//! Execution of the health checks of peers in `stream`.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::runtime::ServerId;
use myriad_net::Connection;
use myriad_upstream::{
    Affinity, Attempts, CheckRules, DialOptions, HealthLogger, Probe, ProbeResult, ProbeTarget,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::StreamCheck;
use crate::stream::runtime::{StreamContent, StreamGroup, StreamServer, WorkerStreams};
use crate::stream::session::StreamSession;
use crate::stream::{target, tcp};

/// Number of response bytes after which a health check stops reading from a TCP peer; maximum size of a UDP peer's
/// response that is compared with `expect`.
const MOST_ANSWER: usize = 16 << 10;
/// Datagram sent to UDP peers if the health check has no `send`, as in NGINX Plus.
const DATAGRAM: &[u8] = b"nginx health check";
/// PROXY protocol header for peers that expect one (`proxy_protocol`): a check has no client.
const NO_CLIENT: &[u8] = b"PROXY UNKNOWN\r\n";

impl WorkerStreams {
    /// Starts the configured health checks of groups, unless another worker has started them. Changes of health are
    /// passed to `log_health`. Groups without a check discard earlier results.
    pub fn begin_checks(self: &Rc<Self>, log_health: &HealthLogger) {
        for group in self.runtime.groups.values() {
            let servers = self.runtime.servers.iter().enumerate();
            let own: Vec<_> =
                servers.filter_map(|(id, server)| check_for(server, group).map(|c| (id, c))).collect();
            let rules: Vec<CheckRules> =
                own.iter().enumerate().map(|(index, (_, check))| check_rules(index, check)).collect();
            if !group.group.begin_checks(&rules) {
                continue;
            }
            for (rules, (server, _)) in rules.into_iter().zip(own) {
                let probe = StreamProbe { streams: Rc::downgrade(self), server };
                group.group.check(rules, Rc::new(probe), log_health);
            }
        }
    }
}

/// Returns the health check of a server if the server proxies to this group and has one; otherwise `None`.
fn check_for<'a>(server: &'a StreamServer, group: &Arc<StreamGroup>) -> Option<&'a StreamCheck> {
    match &server.content {
        StreamContent::Group(own) if Arc::ptr_eq(own, group) => server.check.as_ref(),
        _ => None,
    }
}

fn check_rules(index: usize, StreamCheck { check, .. }: &StreamCheck) -> CheckRules {
    CheckRules::of(check, format!("{}#{index}", check.words))
}

/// Health check of the peers of a server, as run by one worker.
struct StreamProbe {
    /// Weak reference, so that an old configuration can be freed.
    streams: Weak<WorkerStreams>,
    /// Index of the server in the configuration of the worker.
    server: usize,
}

impl Probe for StreamProbe {
    fn run<'a>(&'a self, peer: &'a ProbeTarget) -> Pin<Box<dyn Future<Output = ProbeResult> + 'a>> {
        Box::pin(async move {
            let Some(streams) = self.streams.upgrade() else { return ProbeResult::Obsolete };
            let server = &streams.runtime.servers[self.server];
            let Some(check) = &server.check else { return ProbeResult::Obsolete };
            let longest = Duration::from_millis(check.timeout_ms);
            let asked = async {
                if check.check.udp {
                    probe_udp(&streams, check, peer).await
                } else {
                    probe_tcp(&streams, self.server as ServerId, check, peer).await
                }
            };
            match tokio::time::timeout(longest, asked).await {
                Ok(finding) => finding,
                // A UDP peer that does not respond is healthy unless a response is expected.
                Err(_) if check.check.udp && check.expect.is_none() => ProbeResult::Passed,
                Err(_) => ProbeResult::Failed("it did not respond in time".to_owned()),
            }
        })
    }
}

async fn probe_tcp(
    streams: &Rc<WorkerStreams>,
    server: ServerId,
    check: &StreamCheck,
    peer: &ProbeTarget,
) -> ProbeResult {
    let Ok(options) = dial_options(streams, server, check) else {
        return ProbeResult::Failed("the options of the connection could not be evaluated".to_owned());
    };
    let mut connection = match peer.connect(&streams.worker.origins, &options).await {
        Ok(connection) => connection,
        Err(error) => return ProbeResult::of_error(&error),
    };
    let stream = &mut connection.link;
    if !check.send.is_empty()
        && let Err(error) = stream.write_all(&check.send).await
    {
        return failed_finding("send", &error);
    }
    let Some(expected) = &check.expect else { return ProbeResult::Passed };
    let mut answer = Vec::new();
    while answer.len() < MOST_ANSWER {
        match stream.read_buf(&mut answer).await {
            Ok(0) => {
                return ProbeResult::Failed(
                    "it closed the connection before it sent the expected response".to_owned(),
                );
            }
            Ok(_) if expected.matches(&answer) => return ProbeResult::Passed,
            Ok(_) => {}
            Err(error) => return failed_finding("recv", &error),
        }
    }
    ProbeResult::Failed("its response is not the expected response".to_owned())
}

async fn probe_udp(streams: &WorkerStreams, check: &StreamCheck, peer: &ProbeTarget) -> ProbeResult {
    let connection = match peer.datagrams(&streams.worker.origins, check.timeout_ms).await {
        Ok(connection) => connection,
        Err(error) => return ProbeResult::of_error(&error),
    };
    let socket = &connection.link;
    let sent = if check.send.is_empty() { DATAGRAM } else { &check.send[..] };
    if let Err(error) = socket.send(sent).await {
        return failed_finding("send", &error);
    }
    let mut answer = vec![0; MOST_ANSWER];
    loop {
        match (socket.recv(&mut answer).await, &check.expect) {
            (Err(error), _) => return failed_finding("recv", &error),
            (Ok(_), None) => return ProbeResult::Passed,
            (Ok(received), Some(expected)) if expected.matches(&answer[..received]) => {
                return ProbeResult::Passed;
            }
            (Ok(_), Some(_)) => {}
        }
    }
}

fn failed_finding(call: &str, error: &io::Error) -> ProbeResult {
    ProbeResult::Failed(format!("{call}() failed ({error})"))
}

/// Returns the options of a check's connection: the options of a session without a client. Variables have the values of
/// a connection from 127.0.0.1. Fails if `proxy_bind` is invalid, the client certificate cannot be loaded, or a value
/// with variables cannot be evaluated; the session has logged the reason unless a value could not be evaluated.
fn dial_options(
    streams: &Rc<WorkerStreams>,
    server: ServerId,
    check: &StreamCheck,
) -> Result<DialOptions, u16> {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let connection = Connection::for_internal_request(0, local, None);
    let session = StreamSession::new(Rc::clone(streams), connection, server, false);
    tcp::set_variables(&session)?;
    let settings = &session.server().settings;
    Ok(DialOptions {
        affinity: Affinity::None,
        bind: target::bind_address(&session)?,
        connect_ms: settings.connect_timeout.min(check.timeout_ms),
        keepalive: false,
        preface: if settings.sends_proxy_header { Bytes::from_static(NO_CLIENT) } else { Bytes::new() },
        tls: target::peer_tls(&session)?,
        next: false,
        tries: 1,
        next_timeout_ms: 0,
        attempts: Attempts::new(),
    })
}
