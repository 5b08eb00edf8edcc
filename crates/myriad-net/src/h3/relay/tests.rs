use std::net::SocketAddr;
use std::task::Waker;

use bytes::BytesMut;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::*;
use crate::h3::worker_sockets::QuicListenerShare;

const NAME: &str = "quic:127.0.0.1:443";

fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a pair")
}

fn process(number: u8, standing: Standing) -> QuicProcess {
    QuicProcess { number, rank: number.into(), standing, listeners: vec![listener_id(NAME)] }
}

/// Process under test, with the socket that writes to its inbox.
struct Member {
    relay: Arc<QuicRelay>,
    crossing: Arc<WorkerInboxes>,
    way_in: OwnedFd,
    inbox: OwnedFd,
}

impl Member {
    /// Creates a member that waits for the permission to read without a time limit.
    fn new() -> Self {
        Self::with_patience(Duration::MAX)
    }

    fn with_patience(patience: Duration) -> Self {
        let (way_in, inbox) = pair();
        Self {
            relay: Arc::new(QuicRelay::with_max_wait(patience)),
            crossing: WorkerInboxes::new(2),
            way_in,
            inbox,
        }
    }

    fn share(&self) -> QuicListenerShare {
        QuicListenerShare::new(&self.relay, NAME, &self.crossing)
    }

    fn way_in(&self) -> OwnedFd {
        self.way_in.try_clone().expect("a descriptor")
    }

    /// Processes the messages that are in the inbox at the moment.
    fn process_inbox(&self) {
        let mut buffer = vec![0; LONGEST];
        while let Ok((_, count)) = recv(&self.inbox, &mut buffer[..], RecvFlags::DONTWAIT) {
            self.relay.process_message(&buffer[..count]);
        }
    }
}

fn datagram() -> Datagram {
    let from = SocketAddr::from(([127, 0, 0, 1], 1));
    Datagram { bytes: BytesMut::from(&b"bytes"[..]), from, to: None, ecn: None }
}

#[test]
fn only_one_process_reads_and_successor_starts_once_notified() {
    let (old, new) = (Member::new(), Member::new());
    old.relay.set_processes(process(1, Standing::Serving), Vec::new());
    let old_share = old.share();
    assert!(old_share.reads());
    let know = |old_standing, new_standing| {
        let of_new = vec![(process(1, old_standing), old.way_in())];
        new.relay.set_processes(process(2, new_standing), of_new);
        old.relay.set_processes(process(1, old_standing), vec![(process(2, new_standing), new.way_in())]);
    };
    know(Standing::Serving, Standing::Starting);
    let new_share = new.share();
    assert!(old_share.reads() && !new_share.reads());
    know(Standing::Serving, Standing::Serving);
    assert!(!old_share.reads() && !new_share.reads(), "what comes now waits in the sockets");
    new.process_inbox();
    assert!(new_share.reads());
    // In the other direction: the new process leaves.
    new.relay.stop_accepting();
    assert!(!new_share.reads());
    old.process_inbox();
    assert!(old_share.reads() && new_share.has_successor());
    know(Standing::Serving, Standing::Leaving);
    assert!(old_share.reads() && !old_share.has_successor() && !new_share.reads());
}

#[test]
fn process_without_notification_reads_after_timeout() {
    let (old, new) = (Member::new(), Member::with_patience(Duration::from_millis(1)));
    new.relay
        .set_processes(process(2, Standing::Starting), vec![(process(1, Standing::Serving), old.way_in())]);
    let share = new.share();
    assert!(!share.reads(), "it does not serve yet");
    new.relay
        .set_processes(process(2, Standing::Serving), vec![(process(1, Standing::Serving), old.way_in())]);
    while !share.reads() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn process_that_left_still_has_successor_after_it_exits() {
    let (old, new) = (Member::new(), Member::new());
    old.relay.set_processes(process(1, Standing::Serving), Vec::new());
    let share = old.share();
    let others = |standing| vec![(process(2, standing), new.way_in())];
    // A process that started and exited while this process was serving is not a successor.
    old.relay.set_processes(process(1, Standing::Serving), others(Standing::Serving));
    old.relay.set_processes(process(1, Standing::Serving), Vec::new());
    old.relay.stop_accepting();
    assert!(share.reads() && !share.has_successor());
    old.relay.set_processes(process(1, Standing::Leaving), others(Standing::Serving));
    assert!(!share.reads() && share.has_successor());
    old.relay.set_processes(process(1, Standing::Leaving), Vec::new());
    assert!(share.reads() && share.has_successor(), "it reads until the next one serves");
    old.relay.set_processes(process(1, Standing::Leaving), others(Standing::Starting));
    assert!(share.reads() && share.has_successor());
}

#[test]
fn last_leaving_process_reads_and_one_without_listener_does_not() {
    let (old, new) = (Member::new(), Member::new());
    old.relay.set_processes(process(1, Standing::Serving), Vec::new());
    let share = old.share();
    let without = QuicProcess { listeners: Vec::new(), ..process(2, Standing::Serving) };
    old.relay.set_processes(process(1, Standing::Serving), vec![(without, new.way_in())]);
    old.relay.stop_accepting();
    assert!(share.reads());
    old.relay
        .set_processes(process(1, Standing::Leaving), vec![(process(2, Standing::Leaving), new.way_in())]);
    assert!(!share.reads());
    old.relay.set_processes(process(1, Standing::Leaving), Vec::new());
    assert!(share.reads());
}

#[test]
fn datagram_is_passed_to_its_worker_and_refused_for_missing_process() {
    let (old, new) = (Member::new(), Member::new());
    let _ = old.share();
    new.relay
        .set_processes(process(2, Standing::Serving), vec![(process(1, Standing::Leaving), old.way_in())]);
    let share = new.share();
    assert!(share.forward(CidOwner { worker: 1, process: 1 }, &datagram()));
    assert!(!share.forward(CidOwner { worker: 1, process: 3 }, &datagram()));
    old.process_inbox();
    old.crossing.set_waker(1, Waker::noop());
    assert!(old.crossing.take(0).is_empty());
    assert_eq!(&old.crossing.take(1)[0].bytes[..], b"bytes");
    // Datagrams that do not fit the inbox are dropped without waiting.
    for _ in 0..20_000 {
        assert!(share.forward(CidOwner { worker: 0, process: 1 }, &datagram()));
    }
    drop(old);
    assert!(!share.forward(CidOwner { worker: 1, process: 1 }, &datagram()));
}
