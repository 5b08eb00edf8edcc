//! Resolution of names with a scripted name server.

mod support;

use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use myriad_conf::model::UpstreamQueue;
use myriad_http::Method;
use myriad_upstream::{
    Group, GroupConfig, HttpPool, NamedServer, NamedServers, PeerAddress, PeerConfig, PeerStates,
    ResolveError, Resolver, ResolverConfig, UnresolvedLogger,
};
use support::{Origin, http};
use tokio::task::LocalSet;

/// Query type of an IPv4 address.
const A: u16 = 1;
const PATIENCE_MS: u64 = 20_000;

/// Answers each query according to a script, which gets the name and the number of earlier queries (`usize::MAX` over
/// TCP). Over UDP, all responses that the script returns are sent.
struct NameServer {
    address: SocketAddr,
    questions: Arc<AtomicUsize>,
}

#[derive(Clone)]
struct ScriptedReply {
    code: u8,
    truncated: bool,
    ttl: u32,
    addresses: Vec<[u8; 4]>,
    /// Sends the response with a wrong identifier, which is off by one.
    forged: bool,
}

impl ScriptedReply {
    fn address(last: u8) -> Self {
        let addresses = vec![[127, 0, 0, last]];
        Self { code: 0, truncated: false, ttl: 60, addresses, forged: false }
    }
}

/// Returns the configuration for this name server; results are valid for `valid_ms`, or for their TTL if it is `None`.
fn by(name_server: SocketAddr, valid_ms: Option<u64>) -> ResolverConfig {
    ResolverConfig { servers: vec![name_server], valid_ms, ipv4: true, ipv6: false, zone: None }
}

type Script = dyn Fn(&str, usize) -> Vec<ScriptedReply> + Send + Sync;

impl NameServer {
    fn start(script: impl Fn(&str, usize) -> Vec<ScriptedReply> + Send + Sync + 'static) -> Self {
        // Both protocols need the same port, which another test may have bound for one of them.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().expect("address")) {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().expect("address");
        let questions = Arc::<AtomicUsize>::default();
        let script: Arc<Script> = Arc::new(script);
        let (count, tell) = (Arc::clone(&questions), Arc::clone(&script));
        thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = udp.recv_from(&mut buffer) {
                let number = count.fetch_add(1, Ordering::SeqCst);
                for said in tell(&name_of(&buffer[..length]), number) {
                    let _ = udp.send_to(&message(&buffer[..length], &said), from);
                }
            }
        });
        thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                let mut length = [0; 2];
                let _ = stream.read_exact(&mut length);
                let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
                let _ = stream.read_exact(&mut question);
                let mut reply = script(&name_of(&question), usize::MAX).remove(0);
                reply.truncated = false;
                let bytes = message(&question, &reply);
                let _ = stream.write_all(&(bytes.len() as u16).to_be_bytes());
                let _ = stream.write_all(&bytes);
            }
        });
        Self { address, questions }
    }

    fn resolver(&self, valid_ms: Option<u64>) -> Resolver {
        Resolver::new(Arc::new(by(self.address, valid_ms)))
    }

    fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

fn name_of(question: &[u8]) -> String {
    let (mut at, mut labels) = (12, Vec::new());
    while question[at] > 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..=at + length]).into_owned());
        at += 1 + length;
    }
    labels.join(".")
}

fn message(question: &[u8], said: &ScriptedReply) -> Vec<u8> {
    let mut bytes = question.to_vec();
    if said.forged {
        bytes[1] ^= 1;
    }
    let flags = 0x8180 | u16::from(said.code) | if said.truncated { 0x0200 } else { 0 };
    bytes[2..4].copy_from_slice(&flags.to_be_bytes());
    bytes[6..8].copy_from_slice(&(said.addresses.len() as u16).to_be_bytes());
    for address in &said.addresses {
        bytes.extend_from_slice(&[0xc0, 12, 0, A as u8, 0, 1]);
        bytes.extend_from_slice(&said.ttl.to_be_bytes());
        bytes.extend_from_slice(&[0, 4]);
        bytes.extend_from_slice(address);
    }
    bytes
}

/// Runs `test` in a local task set, because a resolver spawns tasks on its thread.
fn run(test: impl Future<Output = ()>) {
    support::run(LocalSet::new().run_until(test));
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

#[test]
fn an_answer_is_remembered_for_as_long_as_it_holds() {
    let server = NameServer::start(|_, number| vec![ScriptedReply::address(number as u8 + 1)]);
    run(async {
        let resolver = server.resolver(None);
        for name in ["app.example", "APP.example."] {
            assert_eq!(&*resolver.resolve(name, PATIENCE_MS).await.unwrap(), [ip(1)]);
        }
        assert_eq!(&*resolver.resolve("other.example", PATIENCE_MS).await.unwrap(), [ip(2)]);
        assert_eq!(server.questions(), 2);
        let forgetful = server.resolver(Some(0));
        for last in [3, 4] {
            assert_eq!(&*forgetful.resolve("app.example", PATIENCE_MS).await.unwrap(), [ip(last)]);
        }
    });
}

#[test]
fn names_of_servers_are_followed_and_a_failure_changes_nothing() {
    let server = NameServer::start(|_, number| {
        vec![match number {
            0 => ScriptedReply { ttl: 1, ..ScriptedReply::address(1) },
            1 => ScriptedReply { code: 2, addresses: vec![], ..ScriptedReply::address(0) },
            2 => ScriptedReply { ttl: 1, ..ScriptedReply::address(2) },
            _ => ScriptedReply { code: 3, addresses: vec![], ..ScriptedReply::address(0) },
        }]
    });
    let resolver = by(server.address, Some(1000));
    let nowhere = PeerAddress::Unix(std::path::PathBuf::new());
    let named = NamedServer {
        host: "app.example".to_owned(),
        is_service: false,
        port: 80,
        peer: PeerConfig::new(nowhere.clone()),
    };
    let names = NamedServers { servers: vec![named], resolver: Arc::new(resolver), timeout_ms: 1000 };
    let config = GroupConfig { peers: Vec::new(), names: Some(names), ..GroupConfig::single(nowhere) };
    run(async {
        let group = Group::new(config, &PeerStates::new());
        let (told, heard) = tokio::sync::mpsc::unbounded_channel();
        let logged = Rc::new(told);
        let log: UnresolvedLogger = Rc::new(move |why| {
            let _ = logged.send(why.to_owned());
        });
        group.follow_names(&log);
        drop(log);
        let mut heard = heard;
        let peers = || group.peers().iter().map(|peer| peer.address.to_string()).collect::<Vec<_>>();
        assert!(
            heard.recv().await.unwrap().starts_with("app.example could not be resolved (2: Server failure)")
        );
        assert_eq!(peers(), ["127.0.0.1:80"]);
        assert!(heard.recv().await.unwrap().contains("3: Host not found"));
        tokio::task::yield_now().await;
        assert!(peers().is_empty());
        // The task stops when the group is dropped.
        drop(group);
        assert_eq!(heard.recv().await, None);
    });
}

#[test]
fn resolution_of_a_name_continues_after_a_panic() {
    let server = NameServer::start(|_, number| {
        vec![ScriptedReply { code: if number == 0 { 3 } else { 0 }, ..ScriptedReply::address(1) }]
    });
    let group = awaited(&server, 80);
    run(async {
        let (sender, mut logged) = tokio::sync::mpsc::unbounded_channel();
        let log: UnresolvedLogger = Rc::new(move |message| {
            assert!(!message.contains("Host not found"), "panic of the logger");
            let _ = sender.send(message.to_owned());
        });
        group.follow_names(&log);
        let message = logged.recv().await.expect("a message");
        assert!(message.contains("is restarted") && message.contains("panic of the logger"), "{message}");
        for _ in 0..200 {
            if !group.peers().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the name is not resolved again");
    });
}

/// Returns a group with a single server of this name, whose requests wait.
fn awaited(name_server: &NameServer, port: u16) -> Group {
    let resolver = by(name_server.address, None);
    let nowhere = PeerAddress::Unix(std::path::PathBuf::new());
    let host = "app.example".to_owned();
    let named = NamedServer { host, is_service: false, port, peer: PeerConfig::new(nowhere.clone()) };
    let names = NamedServers { servers: vec![named], resolver: Arc::new(resolver), timeout_ms: PATIENCE_MS };
    let queue = Some(UpstreamQueue { max: 10, timeout_ms: PATIENCE_MS });
    let config = GroupConfig { peers: Vec::new(), names: Some(names), queue, ..GroupConfig::single(nowhere) };
    Group::new(config, &PeerStates::new())
}

#[test]
fn requests_wait_for_the_first_address_of_a_name_and_no_longer_than_it_takes() {
    let origin = Origin::tcp(|_, socket| {
        let _ = socket.read(&mut [0; 4096]);
        socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("an answer");
    });
    let PeerAddress::Tcp(address) = origin.address else { panic!("a port") };
    for (code, expected) in [(0, Ok(204)), (3, Err(502)), (2, Err(502))] {
        let server = NameServer::start(move |_, _| vec![ScriptedReply { code, ..ScriptedReply::address(1) }]);
        let (group, pool) = (awaited(&server, address.port()), HttpPool::new());
        run(async {
            let mut fetches: Vec<_> =
                (0..3).map(|_| Box::pin(group.fetch(&pool, http(Method::Get, "")))).collect();
            for fetch in &mut fetches {
                let waits = poll_fn(|cx| Poll::Ready(fetch.as_mut().poll(cx).is_pending())).await;
                assert!(waits, "nothing is known of the name");
            }
            group.follow_names(&(Rc::new(|_: &str| {}) as UnresolvedLogger));
            for fetch in fetches {
                let status = fetch.await.map(|answer| answer.head.status).map_err(|error| error.status());
                assert_eq!(status, expected, "{code}");
            }
            let later = group.fetch(&pool, http(Method::Get, "")).await;
            assert_eq!(later.map(|answer| answer.head.status).map_err(|error| error.status()), expected);
        });
    }
}

/// Starts a name server for a service with three servers, the last of which has no address.
fn service_server() -> SocketAddr {
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = udp.local_addr().expect("address");
    // The thread stops with the process of the test.
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = udp.recv_from(&mut buffer) {
            let question = &buffer[..length];
            let reply = |code, last| ScriptedReply { code, addresses: last, ..ScriptedReply::address(0) };
            let bytes = match &*name_of(question) {
                "_http._tcp.app.example" => {
                    let mut bytes = message(question, &reply(0, vec![]));
                    bytes[7] = 3;
                    for (priority, weight, port, name) in
                        [(5, 0, 81, b"one"), (9, 4, 82, b"two"), (5, 1, 83, b"off")]
                    {
                        bytes.extend_from_slice(&[0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, 11]);
                        bytes.extend_from_slice(&[0, priority, 0, weight, 0, port, 3]);
                        bytes.extend_from_slice(name);
                        bytes.push(0);
                    }
                    bytes
                }
                "one" => message(question, &reply(0, vec![[127, 0, 0, 1], [127, 0, 0, 2]])),
                "two" => message(question, &reply(0, vec![[127, 0, 0, 3]])),
                _ => message(question, &reply(3, vec![])),
            };
            let _ = udp.send_to(&bytes, from);
        }
    });
    address
}

#[test]
fn servers_of_a_service_have_its_ports_and_weights_and_those_of_lower_priority_are_backups() {
    let resolver = by(service_server(), None);
    let nowhere = PeerAddress::Unix(std::path::PathBuf::new());
    let host = "_http._tcp.app.example".to_owned();
    let named = NamedServer { host, is_service: true, port: 80, peer: PeerConfig::new(nowhere.clone()) };
    let names = NamedServers { servers: vec![named], resolver: Arc::new(resolver), timeout_ms: PATIENCE_MS };
    let config = GroupConfig { peers: Vec::new(), names: Some(names), ..GroupConfig::single(nowhere) };
    run(async {
        let group = Group::new(config, &PeerStates::new());
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let log: UnresolvedLogger = Rc::new(move |why| {
            let _ = told.send(why.to_owned());
        });
        group.follow_names(&log);
        let why = heard.recv().await.expect("a server is nowhere");
        assert!(
            why.starts_with("off could not be resolved (3: Host not found) while resolving _http._tcp."),
            "{why}"
        );
        tokio::task::yield_now().await;
        let peers: Vec<_> = group
            .peers()
            .iter()
            .map(|peer| format!("{} {} {} {}", peer.name, peer.address, peer.weight, peer.backup))
            .collect();
        let expected = ["one 127.0.0.1:81 1 false", "one 127.0.0.2:81 1 false", "two 127.0.0.3:82 4 true"];
        assert_eq!(peers, expected);
    });
}

#[test]
fn concurrent_lookups_of_same_name_share_one_query() {
    let server = NameServer::start(|_, _| vec![ScriptedReply::address(1)]);
    run(async {
        let resolver = server.resolver(None);
        let asked: Vec<_> = (0..50)
            .map(|_| {
                let resolver = resolver.clone();
                tokio::task::spawn_local(async move { resolver.resolve("app.example", PATIENCE_MS).await })
            })
            .collect();
        for answer in asked {
            assert_eq!(&*answer.await.unwrap().unwrap(), [ip(1)]);
        }
        assert_eq!(server.questions(), 1);
    });
}

#[test]
fn a_forged_answer_counts_for_nothing() {
    let server = NameServer::start(|_, _| {
        vec![ScriptedReply { forged: true, ..ScriptedReply::address(66) }, ScriptedReply::address(1)]
    });
    run(async {
        assert_eq!(&*server.resolver(None).resolve("app.example", PATIENCE_MS).await.unwrap(), [ip(1)]);
    });
}

#[test]
fn a_truncated_answer_is_asked_for_over_tcp() {
    let server = NameServer::start(|_, number| {
        let last = if number == usize::MAX { 2 } else { 66 };
        vec![ScriptedReply { truncated: true, ..ScriptedReply::address(last) }]
    });
    run(async {
        assert_eq!(&*server.resolver(None).resolve("app.example", PATIENCE_MS).await.unwrap(), [ip(2)]);
    });
}

#[test]
fn dns_refusal_is_reported_and_not_cached() {
    let server = NameServer::start(|_, number| {
        vec![if number == 0 {
            ScriptedReply { code: 3, addresses: vec![], ..ScriptedReply::address(0) }
        } else {
            ScriptedReply::address(1)
        }]
    });
    run(async {
        let resolver = server.resolver(None);
        let refused = resolver.resolve("app.example", PATIENCE_MS).await;
        assert_eq!(refused.unwrap_err(), ResolveError::Code(3));
        assert_eq!(&*resolver.resolve("app.example", PATIENCE_MS).await.unwrap(), [ip(1)]);
    });
}

#[test]
fn a_silent_server_is_given_up_and_what_is_no_name_is_not_asked_for() {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&asked);
    let server = NameServer::start(move |name, _| {
        heard.lock().unwrap().push(name.to_owned());
        Vec::new()
    });
    run(async {
        let resolver = server.resolver(None);
        assert_eq!(resolver.resolve("app.example", 50).await.unwrap_err(), ResolveError::TimedOut);
        for name in ["", "a..b", "a b", "a\r\nb", &"a".repeat(64)] {
            assert_eq!(resolver.resolve(name, 50).await.unwrap_err(), ResolveError::NoName, "{name}");
        }
    });
    assert!(asked.lock().unwrap().iter().all(|name| name == "app.example"));
}
