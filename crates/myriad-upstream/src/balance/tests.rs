use bytes::Bytes;

use super::*;
use crate::address::Address;
use crate::config::{GroupConfig, KeepAlive};
use crate::group::Group;
use crate::peer_states::PeerStates;

fn peer(port: u16) -> PeerConfig {
    PeerConfig::new(Address::Tcp(([127, 0, 0, 1], port).into()))
}

fn group(balance: Balance, peers: Vec<PeerConfig>) -> Group {
    let config =
        GroupConfig { name: "g".to_owned(), peers, balance, keepalive: KeepAlive::default(), queue: None };
    Group::new(config, &PeerStates::new())
}

/// The peer that a new request gets, which it is done with at once.
fn pick(group: &Group) -> Option<usize> {
    pick_by(group, &Affinity::None)
}

fn pick_by(group: &Group, affinity: &Affinity) -> Option<usize> {
    group.pick(&mut Tried::default(), affinity).peer().map(|pick| pick.index)
}

fn picks(group: &Group, count: usize) -> Vec<usize> {
    (0..count).map(|_| pick(group).unwrap()).collect()
}

#[test]
fn weighted_round_robin_is_smooth() {
    let group = group(Balance::RoundRobin, vec![PeerConfig { weight: 5, ..peer(1) }, peer(2), peer(3)]);
    assert_eq!(picks(&group, 7), [0, 0, 1, 0, 2, 0, 0]);
    assert_eq!(picks(&group, 7), [0, 0, 1, 0, 2, 0, 0]);
}

#[test]
fn a_failed_peer_is_left_alone_and_a_down_one_never_used() {
    let group = group(Balance::RoundRobin, vec![peer(1), PeerConfig { down: true, ..peer(2) }, peer(3)]);
    assert_eq!(picks(&group, 4), [0, 2, 0, 2]);
    group.failed(0);
    assert_eq!(picks(&group, 3), [2, 2, 2]);
}

#[test]
fn a_failed_peer_is_tried_by_one_request_when_its_time_is_up() {
    let config = PeerConfig { fail_timeout_ms: 1000, ..peer(1) };
    let state: Arc<PeerState> = Arc::default();
    state.failed(10_000);
    assert!(state.is_failing(&config, 10_000) && state.is_failing(&config, 11_000));
    assert!(!state.is_failing(&config, 11_001));
    let active = state.chosen(&config, 11_001);
    assert!(state.is_failing(&config, 11_002), "others wait for what becomes of it");
    state.succeeded();
    drop(active);
    assert!(!state.is_failing(&config, 11_003));
}

#[test]
fn a_late_success_does_not_forgive_a_failure() {
    let (config, state) = (peer(1), Arc::<PeerState>::default());
    state.failed(10_000);
    state.succeeded();
    assert!(state.is_failing(&config, 10_001));
}

#[test]
fn failures_up_to_max_fails_are_borne_and_zero_means_any() {
    let state: Arc<PeerState> = Arc::default();
    let (two, any) = (PeerConfig { max_fails: 2, ..peer(1) }, PeerConfig { max_fails: 0, ..peer(1) });
    state.failed(10_000);
    assert!(!state.is_failing(&two, 10_000));
    state.failed(10_000);
    assert!(state.is_failing(&two, 10_000));
    assert!(!state.is_failing(&any, 10_000));
}

#[test]
fn backups_serve_only_when_nobody_else_can() {
    let backup = PeerConfig { backup: true, ..peer(3) };
    let group = group(Balance::RoundRobin, vec![peer(1), backup, peer(2)]);
    assert_eq!(picks(&group, 4), [0, 2, 0, 2]);
    group.failed(0);
    group.failed(2);
    assert_eq!(picks(&group, 2), [1, 1]);
    group.failed(1);
    assert_eq!(pick(&group), None);
    group.forgive_all();
    assert!(pick(&group).is_some());
}

#[test]
fn one_request_tries_each_peer_once() {
    let group = group(Balance::RoundRobin, vec![peer(1), PeerConfig { backup: true, ..peer(2) }, peer(3)]);
    let mut tried = Tried::default();
    let order: Vec<_> =
        std::iter::from_fn(|| group.pick(&mut tried, &Affinity::None).peer().map(|pick| pick.index))
            .collect();
    assert_eq!(order, [0, 2, 1]);
}

#[test]
fn max_conns_is_kept() {
    let group = group(Balance::RoundRobin, vec![PeerConfig { max_conns: 2, ..peer(1) }]);
    let pick = || group.pick(&mut Tried::default(), &Affinity::None).peer();
    let (first, second) = (pick().unwrap(), pick().unwrap());
    assert!(pick().is_none());
    drop(first);
    let third = pick().unwrap();
    assert!(pick().is_none());
    drop((second, third));
    assert_eq!(group.peers()[0].active, 0);
}

#[test]
fn least_conn_goes_by_requests_for_weight() {
    let group = group(Balance::LeastConnections, vec![peer(1), PeerConfig { weight: 3, ..peer(2) }]);
    let held: Vec<_> =
        (0..8).map(|_| group.pick(&mut Tried::default(), &Affinity::None).peer().unwrap()).collect();
    let mut counts = [0; 2];
    for pick in &held {
        counts[pick.index] += 1;
    }
    assert_eq!(counts, [2, 6]);
}

#[test]
fn ip_hash_keeps_a_network_together_and_spreads_networks() {
    let group = group(Balance::IpHash, vec![peer(1), peer(2), peer(3)]);
    let at = |a, b| pick_by(&group, &Affinity::Client(IpAddr::from([10, 0, a, b]))).unwrap();
    let mut counts = [0; 3];
    for a in 0..=255 {
        assert_eq!(at(a, 1), at(a, 254));
        counts[at(a, 1)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
    let home = at(7, 1);
    group.failed(home);
    assert_ne!(at(7, 1), home);
}

#[test]
fn hash_keeps_a_key_together_and_spreads_keys() {
    let group =
        group(Balance::Hash { consistent: false }, vec![peer(1), PeerConfig { weight: 2, ..peer(2) }]);
    let at = |key: String| pick_by(&group, &Affinity::Key(key.into())).unwrap();
    let mut counts = [0; 2];
    for number in 0..300 {
        let key = format!("/page-{number}");
        assert_eq!(at(key.clone()), at(key.clone()));
        counts[at(key)] += 1;
    }
    assert!(counts[0] > 70 && counts[1] > 150, "{counts:?}");
}

#[test]
fn crc32_is_the_known_one() {
    assert_eq!(crc32(&[b"1234", b"56789"]), 0xcbf4_3926);
}

#[test]
fn a_group_of_backups_only_is_used() {
    let group = group(Balance::IpHash, vec![PeerConfig { backup: true, ..peer(1) }]);
    assert_eq!(pick_by(&group, &Affinity::Client(IpAddr::from([1, 2, 3, 4]))), Some(0));
}

#[test]
fn chance_follows_the_weights() {
    let group = group(Balance::Random { two: false }, vec![PeerConfig { weight: 3, ..peer(1) }, peer(2)]);
    let first = picks(&group, 4000).into_iter().filter(|index| *index == 0).count();
    assert!((2700..3300).contains(&first), "{first}");
}

#[test]
fn of_two_by_chance_the_less_busy_is_chosen() {
    let group = group(Balance::Random { two: true }, vec![peer(1), peer(2)]);
    let mut tried = Tried::default();
    let busy = group.pick(&mut tried, &Affinity::None).peer().unwrap();
    for _ in 0..20 {
        assert_ne!(pick(&group), Some(busy.index));
    }
}

#[test]
fn a_key_goes_on_along_the_ring_when_its_server_is_down() {
    let group = group(Balance::Hash { consistent: true }, vec![peer(1), peer(2), peer(3)]);
    let key = Affinity::Key(Bytes::from_static(b"some key"));
    let first = pick_by(&group, &key).unwrap();
    assert!((0..9).all(|_| pick_by(&group, &key) == Some(first)));
    group.failed(first);
    let second = pick_by(&group, &key).unwrap();
    assert_ne!(first, second);
    assert!((0..9).all(|_| pick_by(&group, &key) == Some(second)));
}

#[test]
fn the_fastest_gets_more_until_it_has_more_to_do() {
    let group = group(Balance::LeastTime { whole: false }, vec![peer(1), peer(2)]);
    assert_eq!(picks(&group, 2), [0, 1], "turns, while nothing is known");
    group.states()[0].took(false, 105);
    group.states()[1].took(false, 30);
    group.states()[1].took(true, 900);
    assert_eq!(picks(&group, 5), [1; 5]);
    let mut held = Vec::new();
    for expected in [1, 1, 0] {
        let picked = group.pick(&mut Tried::default(), &Affinity::None).peer().unwrap();
        assert_eq!(picked.index, expected);
        held.push(picked);
    }
}

#[test]
fn slowness_is_forgotten_by_and_by() {
    let (config, state) = (PeerConfig { fail_timeout_ms: 1000, ..peer(1) }, Arc::<PeerState>::default());
    drop(state.chosen(&config, 100_000));
    state.took(false, 1000);
    state.took(false, 0);
    let slowness = |now| state.slowness(false, &config, now);
    assert_eq!([slowness(100_000), slowness(102_000), slowness(104_000)], [960, 480, 240]);
    assert_eq!([slowness(1_000_000), state.slowness(true, &config, 100_000)], [20, 20]);
    state.took(true, 60_000);
    assert_eq!(state.slowness(true, &config, 100_000), 5000);
}
