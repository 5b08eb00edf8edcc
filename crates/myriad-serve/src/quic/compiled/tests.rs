use std::sync::Arc;

use super::Quic;
use myriad_exchange::runtime::ListenerHosts;

#[test]
fn workers_of_a_listener_pass_datagrams_to_each_other_and_to_no_other_listener() {
    let mut quic = Quic::new(b"a secret", 3, Arc::default());
    let mut place = |number, index| quic.place(number, &ListenerHosts::default(), (index, 2), 1);
    let (first, second, other) = (place(0, 0), place(0, 1), place(1, 0));
    assert!(Arc::ptr_eq(&first.crossing, &second.crossing));
    assert!(!Arc::ptr_eq(&first.crossing, &other.crossing));
    assert_eq!((second.worker, second.process, second.number), (1, 3, 0));
}

#[test]
fn worker_with_a_socket_of_its_own_needs_no_other() {
    let mut quic = Quic::new(b"a secret", 0, Arc::default());
    let mut alone = |sockets| quic.place(0, &ListenerHosts::default(), (0, 4), sockets).alone;
    assert_eq!([1, 3, 4, 8].map(&mut alone), [false, false, true, true]);
}
