//! Scripted origin on a real socket, and functions to send requests to it.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its part")]

use myriad_conf::settings::NextUpstream;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use myriad_http::Method;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_upstream::fastcgi_protocol::Params;
use myriad_upstream::{
    Affinity, Attempts, Group, GroupConfig, HttpPool, KeepAlive, OriginError, OriginRequest, OriginResponse,
    PeerAddress, PeerConfig, PeerStates, Phase, Protocol, RequestPayload, Timeouts, UpstreamObserver,
};

pub mod fastcgi;
pub mod http2;

/// Temporary folder, removed when dropped.
pub struct TestSocketFolder(PathBuf);

impl TestSocketFolder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("myriad-upstream-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("origin.sock")
    }
}

impl Drop for TestSocketFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub trait TestSocket: Read + Write + Send {}
impl<T: Read + Write + Send> TestSocket for T {}

/// Origin that runs `script(number of the connection, connection)` on a thread for each connection.
pub struct Origin {
    pub address: PeerAddress,
    connections: Arc<AtomicUsize>,
}

type Script = dyn Fn(usize, &mut dyn TestSocket) + Send + Sync;

impl Origin {
    pub fn unix(path: &Path, script: impl Fn(usize, &mut dyn TestSocket) + Send + Sync + 'static) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        Self::run(PeerAddress::Unix(path.into()), script, move || Box::new(listener.accept().unwrap().0))
    }

    pub fn tcp(script: impl Fn(usize, &mut dyn TestSocket) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = PeerAddress::Tcp(listener.local_addr().unwrap());
        Self::run(address, script, move || Box::new(listener.accept().unwrap().0))
    }

    fn run(
        address: PeerAddress,
        script: impl Fn(usize, &mut dyn TestSocket) + Send + Sync + 'static,
        accept: impl Fn() -> Box<dyn TestSocket> + Send + 'static,
    ) -> Self {
        let connections = Arc::new(AtomicUsize::new(0));
        let (counter, script): (_, Arc<Script>) = (connections.clone(), Arc::new(script));
        thread::spawn(move || {
            loop {
                let mut socket = accept();
                let (number, script) = (counter.fetch_add(1, Ordering::SeqCst), script.clone());
                thread::spawn(move || script(number, &mut *socket));
            }
        });
        Self { address, connections }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Address that refuses connections: the port is bound, so that no other process can listen on it.
pub struct Refused {
    pub address: PeerAddress,
    _socket: OwnedFd,
}

pub fn refused() -> Refused {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
    Refused { address: PeerAddress::Tcp(address), _socket: socket }
}

pub fn run<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // Same configuration as in a worker.
    let runtime = runtime.enable_all().on_thread_unpark(myriad_upstream::note_wakeup).build().unwrap();
    let all = tokio::task::LocalSet::new();
    all.block_on(&runtime, async {
        tokio::time::timeout(Duration::from_secs(30), test).await.expect("it hangs")
    })
}

pub fn group(addresses: &[&PeerAddress]) -> Group {
    let peers = addresses.iter().map(|address| PeerConfig::new((*address).clone())).collect();
    let config = GroupConfig { name: "php".to_owned(), peers, ..GroupConfig::single(addresses[0].clone()) };
    Group::new(config, &PeerStates::new())
}

/// Creates a group with a single peer that retains up to `connections` idle connections for a minute.
pub fn keeping(address: &PeerAddress, connections: usize) -> Group {
    let keepalive = KeepAlive { fastcgi_timeout_ms: 60_000, ..most(connections) };
    keeping_as(address, keepalive)
}

/// Returns settings that allow up to `connections` idle connections, with default values otherwise.
pub fn most(connections: usize) -> KeepAlive {
    KeepAlive { connections, http: connections, ..KeepAlive::default() }
}

/// Creates a group with a single peer and these parameters of connection reuse.
pub fn keeping_as(address: &PeerAddress, keepalive: KeepAlive) -> Group {
    Group::new(GroupConfig { keepalive, ..GroupConfig::single(address.clone()) }, &PeerStates::new())
}

pub fn fastcgi(method: Method, keep_conn: bool) -> OriginRequest {
    let mut params = Params::new();
    params.push(b"REQUEST_METHOD", method.as_str().as_bytes());
    params.push(b"SCRIPT_FILENAME", b"/srv/index.php");
    request(method, Protocol::FastCgi { params: params.into_bytes().into(), keep_conn })
}

pub fn http(method: Method, fields: &str) -> OriginRequest {
    let head = format!("{} /path HTTP/1.1\r\nHost: origin\r\n{fields}\r\n", method.as_str());
    request(method, Protocol::Http { head: head.into(), keep_alive: true, upgrade: bytes::Bytes::new() })
}

fn request(method: Method, protocol: Protocol) -> OriginRequest {
    OriginRequest {
        protocol,
        method,
        body: RequestPayload::Empty,
        timeouts: Timeouts { connect_ms: 2000, send_ms: 2000, read_ms: 2000 },
        retry: NextUpstream { error: true, timeout: true, ..NextUpstream::OFF },
        max_head: 8192,
        affinity: Affinity::None,
        sid: None,
        queues: true,
        observer: None,
        bind: None,
        tls: None,
        attempts: Attempts::new(),
    }
}

/// Sends a request and reads the whole body.
pub async fn ask(group: &Group, request: OriginRequest) -> Result<(u16, Vec<u8>), OriginError> {
    let response = group.fetch(&HttpPool::new(), request).await?;
    let status = response.head.status;
    Ok((status, read(response).await.unwrap()))
}

pub async fn read(mut response: Box<OriginResponse>) -> Result<Vec<u8>, BodyError> {
    let mut all = Vec::new();
    while let Some(piece) = next(&mut response.body).await {
        let piece = piece?;
        assert!(!piece.is_empty());
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

pub async fn next(body: &mut BoxBody) -> Option<Result<Bytes, BodyError>> {
    poll_fn(|cx| body.as_mut().poll_data(cx)).await
}

/// Observer that records all events.
#[derive(Default)]
pub struct Notes(RefCell<Vec<String>>);

impl Notes {
    pub fn attach(request: &mut OriginRequest) -> Rc<Self> {
        let notes = Rc::new(Self::default());
        request.observer = Some(notes.clone());
        notes
    }

    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

impl UpstreamObserver for Notes {
    fn stderr(&self, _: &PeerAddress, text: &[u8], phase: Phase) {
        let text = String::from_utf8_lossy(text);
        self.0.borrow_mut().push(format!("stderr while {}: {text}", phase.as_str()));
    }

    fn warning(&self, _: &PeerAddress, text: &str) {
        self.0.borrow_mut().push(format!("warning: {text}"));
    }

    fn retried(&self, error: &OriginError) {
        self.0.borrow_mut().push(format!("retried: {error}"));
    }
}

/// Request body generated while it is read: `left` bytes in pieces, then the end or an error.
pub struct Made {
    /// Delay before the first piece.
    pub delay: Option<Pin<Box<tokio::time::Sleep>>>,
    pub left: u64,
    pub piece: usize,
    pub error: Option<BodyError>,
    pub pulled: Rc<RefCell<u64>>,
}

impl Made {
    pub fn new(left: u64) -> Self {
        Self { delay: None, left, piece: 64 * 1024, error: None, pulled: Rc::default() }
    }
}

impl Body for Made {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(delay) = &mut self.delay {
            ready!(delay.as_mut().poll(cx));
            self.delay = None;
        }
        if self.left == 0 {
            return Poll::Ready(self.error.take().map(Err));
        }
        let length = self.left.min(self.piece as u64);
        self.left -= length;
        *self.pulled.borrow_mut() += length;
        Poll::Ready(Some(Ok(vec![b'm'; length as usize].into())))
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
