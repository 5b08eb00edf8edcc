//! Partitions that nodes detect, and the members that their reports name.

use super::agree;
use super::world::{FaultEnd, World, WorldEvent};
use crate::node::{LateMember, LateReason, NodeStatus, PartitionCause, PartitionReport};

/// Interval at which reports are read, in milliseconds.
const STEP_MS: u64 = 20;
/// Time after which all nodes have read the first record of a member, in milliseconds.
const SEEN_MS: u64 = 1500;

/// Number of partitions that each running node has detected.
pub(super) fn partitions(world: &World) -> Vec<u64> {
    (0..world.hosts.len())
        .filter_map(|host| status(world, host))
        .map(|status| status.counters.partitions)
        .collect()
}

fn status(world: &World, host: usize) -> Option<NodeStatus> {
    let at = &world.hosts[host];
    at.node.as_ref().map(|node| node.status(at.clock.at(world.time)))
}

fn late_members(report: &PartitionReport) -> &[LateMember] {
    match &report.cause {
        PartitionCause::Members { nodes, .. } => nodes,
        _ => &[],
    }
}

/// Runs until `end`, and returns the reasons that reports gave for members. It is a failure if a report names a host as
/// silent that has reported in this time, or names the removal of nodes although none is silent.
fn watch_reports(world: &mut World, end: u64, context: &str) -> Vec<LateReason> {
    let mut reasons = Vec::new();
    let mut first_reports = vec![None; world.hosts.len()];
    let start = world.time;
    while world.time < end {
        world.run_until(world.time + STEP_MS);
        let now = world.time;
        for (host, first_report) in world.hosts.iter().zip(&mut first_reports) {
            *first_report = first_report.or(Some(now).filter(|_| host.member_at > start));
        }
        let has_reported = |member: &LateMember| {
            let host = world.hosts.iter().position(|host| host.name == member.node);
            host.and_then(|host| first_reports[host]).is_some_and(|time| now > time + SEEN_MS)
        };
        for report in (0..world.hosts.len()).filter_map(|host| status(world, host)?.partition) {
            for member in late_members(&report) {
                let is_silent = member.reason == LateReason::Silent;
                assert!(!is_silent || !has_reported(member), "{context}, {now} ms: {report}");
                reasons.push(member.reason);
            }
            let is_silent = late_members(&report).iter().any(|member| member.reason == LateReason::Silent);
            assert_eq!(report.to_string().contains("cluster forget"), is_silent, "{context}: {report}");
        }
    }
    reasons
}

#[test]
fn nodes_that_start_or_join_detect_no_partition() {
    for seed in 0..50 {
        let mut world = World::new(seed, None);
        let last = world.hosts.len() - 1;
        for host in 0..last {
            world.start(host);
        }
        world.run_until(20_000);
        world.start(last);
        world.run_until(40_000);
        assert_eq!(partitions(&world), vec![0; last + 1], "seed {seed}");
        world.hosts[last].node = None;
        world.run_until(41_000);
        world.start(last);
        world.run_until(60_000);
        assert_eq!(partitions(&world), vec![0; last + 1], "seed {seed}");
    }
}

#[test]
fn restarted_node_is_not_reported_as_silent() {
    let mut all = Vec::new();
    for seed in 0..50 {
        let (mut world, _) = agree(seed);
        let last = world.hosts.len() - 1;
        world.hosts[last].node = None;
        world.hosts[last].connection.is_open = false;
        let reasons = watch_reports(&mut world, 40_000, &format!("seed {seed}"));
        assert!(reasons.contains(&LateReason::Silent), "seed {seed}: {reasons:?}");
        world.after(0, WorldEvent::FaultEnds(FaultEnd::Restart(last)));
        all.extend(watch_reports(&mut world, 55_000, &format!("seed {seed} after the restart")));
        assert!((0..=last).all(|host| status(&world, host).is_some_and(|status| status.partition.is_none())));
    }
    assert!(all.contains(&LateReason::Unconfirmed), "no report was read before the confirmation");
}

#[test]
fn members_are_not_blamed_for_a_pause_of_the_reporting_node() {
    for seed in 0..50 {
        let (mut world, _) = agree(seed);
        world.hosts[0].paused_until = world.time + 10_000;
        // The reports of the other nodes name host 0, which is suspended.
        world.run_until(40_000);
        while world.time < 45_000 {
            world.run_until(world.time + STEP_MS);
            let report = status(&world, 0).and_then(|status| status.partition);
            let silent =
                report.iter().flat_map(late_members).find(|member| member.reason == LateReason::Silent);
            assert_eq!(silent, None, "seed {seed}, {} ms", world.time);
        }
    }
}

/// Suspends one node after the other for `pause_ms`, and returns the partitions that nodes have detected.
fn partitions_after_pauses(mut world: World, rounds: usize, pause_ms: u64) -> u64 {
    let before: u64 = partitions(&world).iter().sum();
    for round in 0..rounds {
        let host = round % world.hosts.len();
        world.hosts[host].paused_until = world.time + pause_ms;
        let time = world.time + 6000 + world.random.u64(..1000);
        world.run_until(time);
    }
    assert_eq!(world.violation, None);
    partitions(&world).iter().sum::<u64>() - before
}

/// docs/cluster.md has these times.
#[test]
fn pauses_of_two_seconds_or_one_with_many_nodes_cause_no_partition() {
    for seed in 0..50 {
        assert_eq!(partitions_after_pauses(agree(seed).0, 10, 2000), 0, "seed {seed}");
    }
    for seed in 0..5 {
        assert_eq!(partitions_after_pauses(large_cluster(seed), 20, 1000), 0, "seed {seed}, 20 nodes");
    }
}

/// Returns a cluster of 20 nodes that have joined.
fn large_cluster(seed: u64) -> World {
    let mut world = World::with_hosts(seed, None, Some(20));
    for host in 0..world.hosts.len() {
        let delay = world.random.u64(..2000);
        world.after(delay, WorldEvent::FaultEnds(FaultEnd::Restart(host)));
    }
    world.run_until(20_000);
    world
}
