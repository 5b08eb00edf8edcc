//! Execution of the health checks of peers in `stream`.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use myriad_upstream::{
    Affinity, Attempts, CheckRules, DialOptions, HealthLogger, OriginTls, Probe, ProbeResult, ProbeTarget,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::StreamCheck;
use crate::stream::runtime::{StreamContent, StreamGroup, StreamServer, WorkerStreams};

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
    /// Weak, so that the check does not keep an old configuration alive.
    streams: Weak<WorkerStreams>,
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
                    probe_tcp(&streams, server, check, peer).await
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
    streams: &WorkerStreams,
    server: &StreamServer,
    check: &StreamCheck,
    peer: &ProbeTarget,
) -> ProbeResult {
    let mut connection = match peer.connect(&streams.worker.origins, &dial(server, check)).await {
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

/// Returns the options of a check's connection, which has no client.
fn dial(server: &StreamServer, check: &StreamCheck) -> DialOptions {
    let tls = server.peer_tls.as_ref().map(|tls| OriginTls {
        config: Arc::clone(&tls.config),
        name: String::from_utf8_lossy(tls.name.as_static().unwrap_or_default()).into(),
        check: tls.check.clone(),
        identity: tls.id | 1,
    });
    DialOptions {
        affinity: Affinity::None,
        bind: None,
        connect_ms: server.settings.connect_timeout.min(check.timeout_ms),
        keepalive: false,
        preface: if server.settings.sends_proxy_header {
            Bytes::from_static(NO_CLIENT)
        } else {
            Bytes::new()
        },
        tls,
        next: false,
        tries: 1,
        next_timeout_ms: 0,
        attempts: Attempts::new(),
    }
}
