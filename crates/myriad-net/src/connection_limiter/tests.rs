use super::*;
use crate::connection::ClientAddress;
use crate::socket::ClientSocket;

fn client(id: u64) -> Rc<Connection> {
    Connection::new(id, 0, ClientAddress::Unix, ClientSocket::none())
}

/// Creates idle clients with these numbers as connection numbers and increasing start ticks.
fn clients(limiter: &ConnectionLimiter, ids: std::ops::Range<u64>) -> Vec<(Rc<Connection>, ClientGuard)> {
    ids.map(|id| {
        let connection = client(id);
        connection.activity.set(Activity::idle(id as u32, 0));
        let guard = ClientGuard::new(limiter, &connection);
        (connection, guard)
    })
    .collect()
}

fn gone(all: &[(Rc<Connection>, ClientGuard)]) -> Vec<u64> {
    all.iter().filter(|(it, _)| it.is_evicted()).map(|(it, _)| it.id).collect()
}

#[test]
fn clients_and_origins_share_and_release_the_slots() {
    let limiter = ConnectionLimiter::new(2);
    let connection = client(1);
    connection.mark_busy();
    let guard = ClientGuard::new(&limiter, &connection);
    let origin = limiter.take_slot().expect("a slot");
    assert!(limiter.take_slot().is_none());
    assert_eq!(limiter.clients(), 1);
    drop(origin);
    let origin = limiter.take_slot().expect("the slot that was freed");
    drop(guard);
    assert_eq!(limiter.clients(), 0);
    let second = limiter.take_slot().expect("the slot of the client");
    assert!(limiter.take_slot().is_none());
    drop((origin, second));
    assert!(!limiter.is_full());
}

#[test]
fn oldest_idle_connections_are_evicted_and_busy_ones_are_not() {
    let limiter = ConnectionLimiter::new(100);
    let all = clients(&limiter, 0..100);
    all[3].0.mark_busy();
    // A request has started on it since it was idle.
    all[5].0.requests.set(1);
    let origins: Vec<_> = (0..5).map(|_| limiter.take_slot().expect("a client is evicted")).collect();
    assert_eq!(gone(&all), [0, 1, 2, 4, 6]);
    assert_eq!(limiter.take_shortage(), Some(Shortage { idle: 5, ..Shortage::default() }));
    assert_eq!(limiter.take_shortage(), None);
    // A connection that became idle again after the scan is no longer the oldest.
    all[7].0.activity.set(Activity::idle(1000, 0));
    let more = limiter.take_slot();
    assert_eq!(gone(&all), [0, 1, 2, 4, 6, 8]);
    drop((origins, more));
}

#[test]
fn slot_of_evicted_client_is_released_once() {
    let limiter = ConnectionLimiter::new(1);
    let mut all = clients(&limiter, 0..1);
    let origin = limiter.take_slot().expect("the client is evicted");
    all.clear();
    assert!(limiter.take_slot().is_none(), "the origin has the only slot");
    drop(origin);
    assert!(limiter.take_slot().is_some());
}

#[test]
fn stalled_client_is_evicted_after_idle_ones_and_not_immediately() {
    let limiter = ConnectionLimiter::new(3);
    let all = clients(&limiter, 0..3);
    let long_ago = deadline::tick().wrapping_sub(STALL_TICKS.cast_unsigned());
    all[0].0.activity.set(Activity::stalled(long_ago, 0));
    all[1].0.activity.set(Activity::stalled(deadline::tick().wrapping_add(STALL_TICKS.cast_unsigned()), 0));
    let first = limiter.take_slot();
    assert_eq!(gone(&all), [2]);
    let second = limiter.take_slot();
    assert_eq!(gone(&all), [0, 2]);
    assert!(limiter.take_slot().is_none());
    let noted = Shortage { idle: 1, stalled: 1, refused: true, descriptors: false };
    assert_eq!(limiter.take_shortage(), Some(noted));
    drop((first, second));
}

#[test]
fn clients_leave_an_eighth_to_origins() {
    let limiter = ConnectionLimiter::new(16);
    let all = clients(&limiter, 0..14);
    for (connection, _) in &all {
        connection.mark_busy();
    }
    assert!(limiter.is_full() && !limiter.has_room());
    assert!(limiter.take_slot().is_some());
}

#[test]
fn only_connections_that_are_open_are_visited() {
    let limiter = ConnectionLimiter::new(9);
    let mut all = clients(&limiter, 1..3);
    all.remove(0);
    let mut seen = Vec::new();
    limiter.each_client(|connection| seen.push(connection.id));
    assert_eq!(seen, [2]);
}

#[test]
fn for_want_of_memory_the_oldest_idle_ones_are_closed_and_busy_ones_stay() {
    let limiter = ConnectionLimiter::new(100);
    let all = clients(&limiter, 0..11);
    for (connection, _) in &all {
        let waited = REST_TICKS.cast_unsigned() + 10 - connection.id as u32;
        connection.activity.set(Activity::idle(deadline::tick().wrapping_sub(waited), 0));
    }
    all[0].0.mark_busy();
    // The request of a new connection is in transit.
    all[10].0.activity.set(Activity::idle(deadline::tick(), 0));
    let long_ago = deadline::tick().wrapping_sub(STALL_TICKS.cast_unsigned());
    all[9].0.activity.set(Activity::stalled(long_ago, 0));
    assert_eq!(limiter.evict_for_memory(3), EvictedForMemory { idle: 3, stalled: 0 });
    assert_eq!(gone(&all), [1, 2, 3]);
    assert_eq!(limiter.evict_for_memory(100), EvictedForMemory { idle: 5, stalled: 1 });
    assert_eq!(gone(&all), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(limiter.take_shortage(), None, "there were enough slots");
}

#[test]
fn without_memory_new_connection_requires_eviction() {
    let limiter = ConnectionLimiter::new(1000);
    let all = clients(&limiter, 0..125);
    let long_ago = deadline::tick().wrapping_sub(REST_TICKS.cast_unsigned());
    for (it, _) in &all {
        it.activity.set(Activity::idle(long_ago, 0));
    }
    crate::memory::set_stage(myriad_base::memory::PressureStage::Closing);
    assert!(limiter.make_room() && gone(&all).is_empty());
    crate::memory::set_stage(myriad_base::memory::PressureStage::Refusing);
    assert!(limiter.has_room() && limiter.make_room());
    assert_eq!(gone(&all), [0]);
    for (it, _) in &all {
        it.mark_busy();
    }
    assert!(!limiter.has_room());
    limiter.record_refusal();
    assert_eq!(
        (limiter.take_shortage(), limiter.evict_for_memory(0)),
        (None, EvictedForMemory { idle: 1, stalled: 0 })
    );
    drop(all);
    assert!(limiter.has_room(), "where nobody is, somebody may come");
    crate::memory::set_stage(myriad_base::memory::PressureStage::Normal);
}

#[test]
fn without_memory_some_new_connections_are_admitted_without_eviction() {
    crate::memory::set_stage(myriad_base::memory::PressureStage::Refusing);
    // The limit is an eighth of the slots, at least 64, but no more than the slots of clients.
    for (most, let_in) in [(1000, 125), (100, 64), (32, 28)] {
        let limiter = ConnectionLimiter::new(most);
        let mut all = Vec::new();
        while all.len() < most && limiter.has_room() && limiter.make_room() {
            let number = all.len() as u64;
            all.extend(clients(&limiter, number..number + 1));
            all[number as usize].0.mark_busy();
        }
        assert_eq!((all.len(), gone(&all).len()), (let_in, 0), "of {most} limiter");
    }
    crate::memory::set_stage(myriad_base::memory::PressureStage::Normal);
}

#[test]
fn a_walk_in_vain_for_memory_does_not_keep_others_from_a_seat() {
    let limiter = ConnectionLimiter::new(16);
    let all = clients(&limiter, 0..14);
    for (connection, _) in &all {
        connection.activity.set(Activity::idle(deadline::tick(), 0));
    }
    assert_eq!(limiter.evict_for_memory(5), EvictedForMemory::default(), "their requests are on their way");
    assert!(limiter.is_full() && limiter.has_room() && limiter.make_room());
    assert_eq!(gone(&all).len(), 1);
    for (connection, _) in &all {
        connection.mark_busy();
    }
    limiter.free_descriptors(1);
    assert_eq!(gone(&all).len(), 1);
    // A failed scan for a slot also rules out an eviction for memory: the scan is not repeated.
    let tick = deadline::tick();
    all[5].0.activity.set(Activity::idle(tick.wrapping_sub(REST_TICKS.cast_unsigned()), 0));
    let relieved = limiter.evict_for_memory(5);
    assert!(relieved == EvictedForMemory::default() || deadline::tick() != tick, "{relieved:?}");
}
