//! Tests of fetches that continue without their client.

use std::future::poll_fn;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::pin::pin;
use std::sync::mpsc;

use myriad_upstream::RequestPayload;
use tokio::sync::oneshot;

use super::support::OriginTrial;
use myriad_origin::fetch::fetch_to_completion;
use myriad_origin::group::{resolve_target, target_of_place};

/// Length of the response in bytes. It exceeds the buffers of two sockets, so it can only be sent completely if it is
/// read.
const LONG: usize = 64 << 20;

/// Answers one request after its client has disconnected.
fn answer(
    listener: &TcpListener,
    asked: oneshot::Sender<()>,
    has_gone: &mpsc::Receiver<()>,
) -> io::Result<()> {
    let (mut peer, _) = listener.accept()?;
    let mut head = BufReader::new(peer.try_clone()?).lines();
    while head.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    asked.send(()).expect("a client");
    has_gone.recv().expect("a client");
    write!(peer, "HTTP/1.1 200 OK\r\nContent-Length: {LONG}\r\n\r\n")?;
    peer.write_all(&vec![b'x'; LONG])
}

#[test]
fn fetch_goes_on_without_its_client_to_the_last_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let (asked, mut is_asked) = oneshot::channel();
    let (gone, has_gone) = mpsc::channel();
    let answering = std::thread::spawn(move || answer(&listener, asked, &has_gone));
    let mut trial = OriginTrial::of(&format!("location / {{ proxy_pass http://{address}; }}"), "GET /", &[]);
    let origin = trial.origin();
    let request = trial.build_request(RequestPayload::Empty).expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let chosen = target_of_place(&mut trial.0, &origin).unwrap_or_else(|status| panic!("{status}"));
        let group = resolve_target(&mut trial.0, chosen).await.unwrap_or_else(|status| panic!("{status}"));
        {
            let mut fetching = pin!(fetch_to_completion(&mut trial.0, &origin, &group, request));
            let until_asked = poll_fn(|cx| {
                assert!(fetching.as_mut().poll(cx).is_pending(), "the origin has not responded");
                pin!(&mut is_asked).poll(cx)
            });
            until_asked.await.expect("a request");
        }
        gone.send(()).expect("a peer");
        let answered = tokio::task::spawn_blocking(|| answering.join().expect("a peer")).await;
        answered.expect("a thread").expect("the response is read to its end");
    });
}
