use std::sync::Arc;

use bytes::Bytes;
use myriad_conf::model::MeasuredUntil;

use super::*;
use crate::address::PeerAddress;
use crate::config::{GroupConfig, KeepAlive, NamedServer, NamedServers};
use crate::group::Group;
use crate::peer::PeerStatus;
use crate::peer_order::PeerOrder;
use crate::peer_states::PeerStates;
use crate::resolved_server::ResolvedServer;
use crate::resolver::ResolverConfig;

fn peer(port: u16) -> PeerConfig {
    PeerConfig::new(PeerAddress::Tcp(([127, 0, 0, 1], port).into()))
}

fn group(balance: Balance, peers: Vec<PeerConfig>) -> Group {
    let config = GroupConfig {
        name: "g".to_owned(),
        peers,
        balance,
        keepalive: KeepAlive::default(),
        queue: None,
        sticky: false,
        names: None,
        zone: None,
    };
    Group::new(config, &PeerStates::new())
}

/// Returns the peer chosen for a new request, which completes immediately.
fn pick(group: &Group) -> Option<usize> {
    pick_by(group, &Affinity::None)
}

fn pick_by(group: &Group, affinity: &Affinity) -> Option<usize> {
    group.pick(&mut TriedPeers::default(), affinity).peer().map(|pick| pick.chosen.index)
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
    group.fail(0);
    assert_eq!(picks(&group, 3), [2, 2, 2]);
}

#[test]
fn orders_of_administrators_go_before_what_is_configured_and_outlive_a_reload() {
    let states = PeerStates::new();
    let config = GroupConfig {
        peers: vec![peer(1), PeerConfig { down: true, ..peer(2) }, peer(3)],
        ..group(Balance::RoundRobin, Vec::new()).config
    };
    let group = Group::new(config.clone(), &states);
    let control = group.control();
    assert_eq!(control.order(Some("127.0.0.1:1"), PeerOrder::Down).len(), 1);
    assert_eq!(control.order(Some("127.0.0.1:2"), PeerOrder::Up)[0].status, PeerStatus::Up);
    assert_eq!((picks(&group, 4), group.size()), (vec![1, 2, 1, 2], 2));
    assert_eq!(control.order(Some("127.0.0.1:3"), PeerOrder::Drain)[0].status, PeerStatus::Draining);
    let after = Group::new(config, &states);
    assert_eq!(picks(&after, 2), [1, 1]);
    after.fail(0);
    assert_eq!(control.order(None, PeerOrder::Up).len(), 3);
    let mut picked = picks(&after, 3);
    picked.sort_unstable();
    assert_eq!(picked, [0, 1, 2], "the failure is forgiven");
    assert!(control.order(Some("127.0.0.1:9"), PeerOrder::Down).is_empty());
}

#[test]
fn a_failed_peer_is_tried_by_one_request_when_its_time_is_up() {
    let config = PeerConfig { fail_timeout_ms: 1000, ..peer(1) };
    let state: Arc<PeerState> = Arc::default();
    state.failed(&config, 10_000);
    assert!(state.is_failing(&config, 10_000) && state.is_failing(&config, 11_000));
    assert!(!state.is_failing(&config, 11_001));
    let active = state.begin_request(&config, 11_001);
    assert!(state.is_failing(&config, 11_002), "others wait for what becomes of it");
    state.succeeded(&config, 11_002);
    drop(active);
    assert!(!state.is_failing(&config, 11_003));
}

#[test]
fn a_late_success_does_not_forgive_a_failure() {
    let (config, state) = (peer(1), Arc::<PeerState>::default());
    state.failed(&config, 10_000);
    state.succeeded(&config, 10_001);
    assert!(state.is_failing(&config, 10_001));
}

#[test]
fn failures_up_to_max_fails_are_borne_and_zero_means_any() {
    let state: Arc<PeerState> = Arc::default();
    let (two, any) = (PeerConfig { max_fails: 2, ..peer(1) }, PeerConfig { max_fails: 0, ..peer(1) });
    state.failed(&peer(1), 10_000);
    assert!(!state.is_failing(&two, 10_000));
    state.failed(&peer(1), 10_000);
    assert!(state.is_failing(&two, 10_000));
    assert!(!state.is_failing(&any, 10_000));
}

#[test]
fn backup_peers_serve_only_when_no_primary_is_available() {
    let backup = PeerConfig { backup: true, ..peer(3) };
    let group = group(Balance::RoundRobin, vec![peer(1), backup, peer(2)]);
    assert_eq!(picks(&group, 4), [0, 2, 0, 2]);
    group.fail(0);
    group.fail(2);
    assert_eq!(picks(&group, 2), [1, 1]);
    group.fail(1);
    assert_eq!(pick(&group), None);
    group.reset_all_failures();
    assert!(pick(&group).is_some());
}

#[test]
fn one_request_tries_each_peer_once() {
    let group = group(Balance::RoundRobin, vec![peer(1), PeerConfig { backup: true, ..peer(2) }, peer(3)]);
    let mut tried = TriedPeers::default();
    let order: Vec<_> =
        std::iter::from_fn(|| group.pick(&mut tried, &Affinity::None).peer().map(|pick| pick.chosen.index))
            .collect();
    assert_eq!(order, [0, 2, 1]);
}

/// Returns a group with a peer with an address and a server with a name to resolve.
fn named(states: &PeerStates) -> Group {
    named_all(states, &["app"])
}

fn named_all(states: &PeerStates, hosts: &[&str]) -> Group {
    let server = |host: &&str| NamedServer {
        host: (*host).to_owned(),
        is_service: false,
        port: 80,
        peer: PeerConfig { name: format!("{host}:80"), ..peer(9) },
    };
    let servers = hosts.iter().map(server).collect();
    let resolver = ResolverConfig { servers: Vec::new(), valid_ms: None, ipv4: true, ipv6: true, zone: None };
    let names = Some(NamedServers { servers, resolver: Arc::new(resolver), timeout_ms: 1000 });
    let single = GroupConfig::single(PeerAddress::Tcp(([127, 0, 0, 1], 1).into()));
    Group::new(GroupConfig { name: "g".to_owned(), names, ..single }, states)
}

fn ips(last: &[u8]) -> Vec<ResolvedServer> {
    last.iter().map(|last| ResolvedServer::new(([127, 0, 0, *last], 80).into())).collect()
}

fn shown(group: &Group) -> Vec<(String, bool)> {
    group.peers().iter().map(|peer| (peer.address.to_string(), peer.available)).collect()
}

#[test]
fn peers_of_a_name_come_and_go_and_those_that_stay_keep_their_state() {
    let states = PeerStates::new();
    let group = named(&states);
    assert_eq!(picks(&group, 2), [0, 0], "the name stands for nothing yet");
    group.roster.set(1, &ips(&[2, 3, 3]));
    group.fail(2);
    let held = group.pick(&mut TriedPeers::default(), &Affinity::None).peer().unwrap();
    group.roster.set(1, &ips(&[4, 3]));
    let expected = [("127.0.0.1:1", true), ("127.0.0.3:80", false), ("127.0.0.4:80", true)];
    assert_eq!(shown(&group), expected.map(|(address, available)| (address.to_owned(), available)));
    group.failed(&held.chosen);
    group.roster.set(1, &[]);
    assert_eq!(group.peers().len(), 1);
    drop(held);
}

#[test]
fn a_group_knows_at_once_what_a_name_stood_for_before_a_reload() {
    let states = PeerStates::new();
    let before = named(&states);
    before.roster.set(1, &ips(&[2, 3]));
    before.fail(1);
    let after = named(&states);
    assert_eq!(shown(&after), shown(&before));
    before.roster.set(1, &ips(&[3]));
    after.roster.set(1, &ips(&[3]));
    assert_eq!((after.peers().len(), before.peers().len()), (2, 2));
    drop((before, after));
    states.prune();
    assert_eq!(named(&states).peers().len(), 1, "nobody used it any more");
}

#[test]
fn what_a_group_of_before_a_reload_learns_is_not_taken_by_the_one_after_it() {
    let states = PeerStates::new();
    let before = named_all(&states, &["app", "other"]);
    before.roster.set(1, &ips(&[2]));
    let after = named_all(&states, &["app", "other"]);
    after.roster.set(1, &ips(&[3]));
    before.roster.set(1, &ips(&[4]));
    after.roster.set(2, &ips(&[9]));
    let addresses = |group: &Group| shown(group).into_iter().map(|(address, _)| address).collect::<Vec<_>>();
    let expected = ["127.0.0.1:1", "127.0.0.3:80", "127.0.0.9:80"];
    assert_eq!(addresses(&after), expected);
    assert_eq!(addresses(&before), ["127.0.0.1:1", "127.0.0.4:80"]);
    assert_eq!(addresses(&named_all(&states, &["app", "other"])), expected, "nor by the next");
}

#[test]
fn what_a_name_stands_for_has_a_bound() {
    let group = named(&PeerStates::new());
    let many: Vec<ResolvedServer> =
        (0..2000_u16).map(|n| ResolvedServer::new(([10, 0, (n >> 8) as u8, n as u8], 80).into())).collect();
    group.roster.set(1, &many);
    assert_eq!(group.peers().len(), 513);
}

#[test]
fn a_request_tries_a_peer_once_though_the_list_changes() {
    let group = named(&PeerStates::new());
    group.roster.set(1, &ips(&[2]));
    let mut tried = TriedPeers::default();
    let mut next =
        || group.pick(&mut tried, &Affinity::None).peer().map(|pick| pick.chosen.config().address.clone());
    let first = [next(), next()];
    assert!(first.iter().all(Option::is_some));
    group.roster.set(1, &ips(&[7, 2]));
    assert_eq!(next().map(|address| address.to_string()).as_deref(), Some("127.0.0.7:80"));
    assert_eq!(next(), None);
}

/// Returns a group with `sticky`.
fn sticky(peers: Vec<PeerConfig>) -> Group {
    let single = GroupConfig::single(PeerAddress::Tcp(([127, 0, 0, 1], 1).into()));
    Group::new(GroupConfig { peers, sticky: true, ..single }, &PeerStates::new())
}

fn asked(group: &Group, sid: &str) -> Option<usize> {
    let asked = group.pick_preferred(&mut TriedPeers::default(), &Affinity::None, Some(sid.as_bytes()));
    asked.peer().map(|pick| pick.chosen.index)
}

fn routed(port: u16, route: &str) -> PeerConfig {
    PeerConfig { route: Some(route.to_owned()), ..peer(port) }
}

#[test]
fn sticky_request_gets_its_peer_without_advancing_round_robin() {
    let group = sticky(vec![routed(1, "a"), routed(2, "b"), peer(3)]);
    assert_eq!((0..4).map(|_| asked(&group, "b")).collect::<Vec<_>>(), [Some(1); 4]);
    let sid = group.roster.peers().sids[2].to_string();
    assert_eq!((sid.len(), asked(&group, &sid)), (32, Some(2)));
    assert_eq!(picks(&group, 3), [0, 1, 2]);
    assert_eq!(asked(&group, "nobody"), Some(0));
    group.fail(1);
    assert_ne!(asked(&group, "b"), Some(1), "it is failing");
}

#[test]
fn drained_peer_serves_only_sticky_requests_for_it() {
    let group = sticky(vec![PeerConfig { drain: true, ..routed(1, "a") }, routed(2, "b")]);
    assert_eq!(picks(&group, 3), [1, 1, 1]);
    assert_eq!(asked(&group, "a"), Some(0));
    let alone = sticky(vec![PeerConfig { drain: true, ..routed(1, "a") }]);
    assert_eq!((asked(&alone, "a"), pick(&alone)), (Some(0), None));
}

#[test]
fn sticky_backup_is_picked_only_when_primaries_have_failed() {
    let backup = |port, route| PeerConfig { backup: true, ..routed(port, route) };
    let group = sticky(vec![peer(1), backup(2, "x"), backup(3, "y")]);
    assert_eq!(asked(&group, "y"), Some(0));
    group.fail(0);
    assert_eq!(asked(&group, "y"), Some(2));
}

#[test]
fn max_conns_limits_active_connections() {
    let group = group(Balance::RoundRobin, vec![PeerConfig { max_conns: 2, ..peer(1) }]);
    let pick = || group.pick(&mut TriedPeers::default(), &Affinity::None).peer();
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
        (0..8).map(|_| group.pick(&mut TriedPeers::default(), &Affinity::None).peer().unwrap()).collect();
    let mut counts = [0; 2];
    for pick in &held {
        counts[pick.chosen.index] += 1;
    }
    assert_eq!(counts, [2, 6]);
}

#[test]
fn ip_hash_maps_network_to_one_peer_and_distributes_networks() {
    let group = group(Balance::IpHash, vec![peer(1), peer(2), peer(3)]);
    let at = |a, b| pick_by(&group, &Affinity::Client(IpAddr::from([10, 0, a, b]))).unwrap();
    let mut counts = [0; 3];
    for a in 0..=255 {
        assert_eq!(at(a, 1), at(a, 254));
        counts[at(a, 1)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 40), "{counts:?}");
    let home = at(7, 1);
    group.fail(home);
    assert_ne!(at(7, 1), home);
}

#[test]
fn hash_maps_key_to_one_peer_and_distributes_keys() {
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
    let group = group(Balance::Random { two: None }, vec![PeerConfig { weight: 3, ..peer(1) }, peer(2)]);
    let first = picks(&group, 4000).into_iter().filter(|index| *index == 0).count();
    assert!((2700..3300).contains(&first), "{first}");
}

#[test]
fn of_two_by_chance_the_less_busy_is_chosen() {
    let group = group(Balance::Random { two: Some(LeastMeasure::Connections) }, vec![peer(1), peer(2)]);
    let mut tried = TriedPeers::default();
    let busy = group.pick(&mut tried, &Affinity::None).peer().unwrap();
    for _ in 0..20 {
        assert_ne!(pick(&group), Some(busy.chosen.index));
    }
}

#[test]
fn a_key_goes_on_along_the_ring_when_its_server_is_down() {
    let group = group(Balance::Hash { consistent: true }, vec![peer(1), peer(2), peer(3)]);
    let key = Affinity::Key(Bytes::from_static(b"some key"));
    let first = pick_by(&group, &key).unwrap();
    assert!((0..9).all(|_| pick_by(&group, &key) == Some(first)));
    group.fail(first);
    let second = pick_by(&group, &key).unwrap();
    assert_ne!(first, second);
    assert!((0..9).all(|_| pick_by(&group, &key) == Some(second)));
}

#[test]
fn the_fastest_gets_more_until_it_has_more_to_do() {
    let group =
        group(Balance::LeastTime { moment: MeasuredUntil::First, inflight: false }, vec![peer(1), peer(2)]);
    assert_eq!(picks(&group, 2), [0, 1], "turns, while nothing is known");
    group.states()[0].record_time(MeasuredUntil::First, 105);
    group.states()[1].record_time(MeasuredUntil::First, 30);
    group.states()[1].record_time(MeasuredUntil::Last, 900);
    assert_eq!(picks(&group, 5), [1; 5]);
    let mut held = Vec::new();
    for expected in [1, 1, 0] {
        let picked = group.pick(&mut TriedPeers::default(), &Affinity::None).peer().unwrap();
        assert_eq!(picked.chosen.index, expected);
        held.push(picked);
    }
}

#[test]
fn a_peer_that_does_not_answer_looks_slow_while_its_requests_are_under_way() {
    let balance = Balance::LeastTime { moment: MeasuredUntil::First, inflight: true };
    let group = group(balance, vec![peer(1), peer(2)]);
    let held = group.pick(&mut TriedPeers::default(), &Affinity::None).peer().unwrap();
    assert_eq!(held.chosen.index, 0);
    // Simulates a request that was started ten seconds ago and observed since.
    let hanging = &group.states()[0].inflight;
    hanging.begin(crate::clock::now().saturating_sub(10_000));
    hanging.sample(crate::clock::now());
    let others: Vec<_> =
        (0..5).map(|_| group.pick(&mut TriedPeers::default(), &Affinity::None).peer().unwrap()).collect();
    assert!(others.iter().all(|pick| pick.chosen.index == 1));
    held.active.record_time(MeasuredUntil::First, 5);
    drop(held);
}

#[test]
fn slowness_is_forgotten_by_and_by() {
    let (config, state) = (PeerConfig { fail_timeout_ms: 1000, ..peer(1) }, Arc::<PeerState>::default());
    drop(state.begin_request(&config, 100_000));
    state.record_time(MeasuredUntil::First, 1000);
    state.record_time(MeasuredUntil::First, 0);
    let slowness = |now| state.estimated_time(MeasuredUntil::First, &config, now);
    assert_eq!([slowness(100_000), slowness(102_000), slowness(104_000)], [960, 480, 240]);
    assert_eq!([slowness(1_000_000), state.estimated_time(MeasuredUntil::Last, &config, 100_000)], [20, 20]);
    state.record_time(MeasuredUntil::Last, 60_000);
    assert_eq!(state.estimated_time(MeasuredUntil::Last, &config, 100_000), 5000);
}

#[test]
fn each_moment_has_an_average_of_its_own() {
    let group =
        group(Balance::LeastTime { moment: MeasuredUntil::Connect, inflight: false }, vec![peer(1), peer(2)]);
    assert_eq!(picks(&group, 2), [0, 1]);
    group.states()[0].record_time(MeasuredUntil::Connect, 300);
    group.states()[1].record_time(MeasuredUntil::Last, 3000);
    assert_eq!(picks(&group, 3), [1; 3]);
}

#[test]
fn of_two_by_chance_the_faster_is_chosen() {
    let two = Some(LeastMeasure::Time(MeasuredUntil::Last));
    let group = group(Balance::Random { two }, vec![peer(1), peer(2)]);
    for (state, ms) in group.states().iter().zip([800, 30]) {
        drop(state.begin_request(&peer(1), crate::clock::now()));
        state.record_time(MeasuredUntil::Last, ms);
    }
    assert!((0..20).all(|_| pick(&group) == Some(1)));
}

#[test]
fn the_share_of_a_peer_that_recovers_grows() {
    let config = PeerConfig { slow_start_ms: 10_000, fail_timeout_ms: 1000, ..peer(1) };
    let state: Arc<PeerState> = Arc::default();
    assert_eq!(state.share(&config, 10_000), 1000, "it never failed");
    state.failed(&config, 10_000);
    drop(state.begin_request(&config, 12_000));
    state.succeeded(&config, 12_001);
    let shares = [12_001, 14_501, 17_001, 22_001].map(|now| state.share(&config, now));
    assert_eq!(shares, [1, 250, 500, 1000]);
}

#[test]
fn a_peer_that_starts_slowly_gets_few_requests() {
    for balance in [Balance::RoundRobin, Balance::LeastConnections] {
        let slow = PeerConfig { slow_start_ms: 3_600_000, fail_timeout_ms: 0, ..peer(1) };
        let group = group(balance, vec![slow.clone(), peer(2)]);
        let state = &group.states()[0];
        state.failed(&slow, 1);
        drop(state.begin_request(&slow, 2));
        state.succeeded(&slow, crate::clock::now());
        let held: Vec<_> = (0..50)
            .map(|_| group.pick(&mut TriedPeers::default(), &Affinity::None).peer().unwrap())
            .collect();
        assert!(held.iter().filter(|pick| pick.chosen.index == 0).count() <= 1, "{balance:?}");
    }
}
