//! Simulation of a cluster: production nodes, a model of Valkey that loses data, hosts that crash, a network that fails.
//!
//! One seed gives one run: time is virtual, and all decisions come from one generator. `make cluster-simulation` runs
//! many seeds; `MYRIAD_CLUSTER_SEED` runs one.

mod clients;
mod faults;
mod host;
mod invariants;
mod load;
mod network;
mod partition_reports;
mod process;
mod scenarios;
mod server;
mod traffic;
mod world;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use self::faults::{FAULTS, WorldFault};
use self::world::{World, WorldEvent};
use crate::node::bug::SeededBug;

/// Duration of the part with faults, in milliseconds.
const FAULTS_MS: u64 = 90_000;
/// Duration after the last fault within which all nodes must agree, in milliseconds.
const CONVERGENCE_MS: u64 = 60_000;
/// Time within which all nodes agree again after one detected a partition without a fault, in milliseconds.
const MOMENT_MS: u64 = 5000;
/// Number of seeds in `make test`.
const SEEDS: u64 = 300;
/// Number of seeds that are tried until one finds a seeded bug.
const BUG_SEEDS: u64 = 1000;

/// Runs one seed with some of these kinds of faults. Returns the violation of an invariant, if there is one.
fn simulate(seed: u64, bug: Option<SeededBug>, faults: &[WorldFault]) -> Option<String> {
    let mut world = World::new(seed, bug);
    world.is_traced = std::env::var_os("MYRIAD_CLUSTER_TRACE").is_some();
    let count = world.random.usize(1..=faults.len());
    let mut faults = faults.to_vec();
    world.random.shuffle(&mut faults);
    faults.truncate(count);
    world.faults = faults;
    for host in 0..world.hosts.len() {
        let delay = world.random.u64(..3000);
        world.after(delay, WorldEvent::FaultEnds(world::FaultEnd::Restart(host)));
    }
    world.after(0, WorldEvent::Visit);
    world.after(3000, WorldEvent::Change);
    world.after(10_000, WorldEvent::Fault);
    world.after(FAULTS_MS, WorldEvent::Heal);
    let mut end = FAULTS_MS + CONVERGENCE_MS;
    world.run_until(end);
    // A few late packets in succession look like a partition for a moment. Afterwards, the node appends a record.
    while end < FAULTS_MS + CONVERGENCE_MS + MOMENT_MS && !world.is_settled() {
        end += 1000;
        world.run_until(end);
    }
    if world.violation.is_none() {
        world.check_convergence();
    }
    world.violation.map(|text| format!("seed {seed}: {text}"))
}

/// Runs seeds on all processors; returns the number of those that violate an invariant, and the first violation.
fn simulate_all(
    seeds: std::ops::Range<u64>,
    bug: Option<SeededBug>,
    faults: &[WorldFault],
    stops_early: bool,
) -> (usize, Option<String>) {
    let next = AtomicU64::new(seeds.start);
    let found = AtomicUsize::new(0);
    let first = std::sync::Mutex::new(None::<(u64, String)>);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || stops_early && found.load(Ordering::Relaxed) > 0 {
                        return;
                    }
                    if let Some(text) = simulate(seed, bug, faults) {
                        found.fetch_add(1, Ordering::Relaxed);
                        let mut first = first.lock().expect("no thread panics");
                        if first.as_ref().is_none_or(|(other, _)| seed < *other) {
                            *first = Some((seed, text));
                        }
                    }
                }
            });
        }
    });
    let first = first.into_inner().expect("no thread panics");
    (found.into_inner(), first.map(|(_, text)| text))
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn no_invariant_is_violated() {
    let (start, count) = match number_of("MYRIAD_CLUSTER_SEED") {
        Some(seed) => (seed, 1),
        None => (0, number_of("MYRIAD_CLUSTER_SEEDS").unwrap_or(SEEDS)),
    };
    let (found, first) = simulate_all(start..start + count, None, &FAULTS, false);
    assert!(found == 0, "{found} of {count} seeds violate an invariant; {}", first.unwrap_or_default());
}

/// Runs a cluster without faults until all nodes agree. Returns how often each node has made its pages stale.
fn agree(seed: u64) -> (World, Vec<u64>) {
    let mut world = World::new(seed, None);
    for host in 0..world.hosts.len() {
        world.start(host);
    }
    world.after(0, WorldEvent::Visit);
    world.after(3000, WorldEvent::Change);
    world.run_until(20_000);
    world.is_healed = true; // no further purges
    world.run_until(30_000);
    world.check_convergence();
    assert!(world.shared_uses > 0, "seed {seed}: no host has used the page of another one");
    let appended = |host: &host::HostModel| {
        host.node.as_ref().map_or(0, |node| node.status(0).counters.records_appended)
    };
    let records: u64 = world.hosts.iter().map(appended).sum();
    let most = (world.purges.len() + 3 * world.hosts.len()) as u64;
    assert!(records <= most, "seed {seed}: {records} records for {} purges", world.purges.len());
    let expired = expirations(&world);
    (world, expired)
}

fn expirations(world: &World) -> Vec<u64> {
    let count = |host: &host::HostModel| {
        host.node.as_ref().map_or(0, |node| node.status(0).counters.everything_expired)
    };
    world.hosts.iter().map(count).collect()
}

#[test]
fn pages_survive_a_restart_of_valkey_without_data() {
    for seed in 0..30 {
        for fault in [
            WorldFault::LoseAll,
            WorldFault::Flush,
            WorldFault::LoseEnd,
            WorldFault::DeleteLog,
            WorldFault::Failover,
        ] {
            let (mut world, expired) = agree(seed);
            world.server_fault(fault);
            world.run_until(40_000);
            world.is_healed = false;
            world.after(0, WorldEvent::Change);
            world.run_until(50_000);
            world.is_healed = true;
            world.run_until(60_000);
            world.check_convergence();
            assert_eq!(world.violation, None, "seed {seed}, {fault:?}");
            assert_eq!(expirations(&world), expired, "seed {seed}, {fault:?}");
        }
    }
}

/// Checks that the simulation finds a bug with any faults.
fn find(bug: SeededBug) {
    find_with(bug, &FAULTS);
}

/// Checks that the simulation finds a bug with these faults. A bug that needs several of them is rarely found with all.
fn find_with(bug: SeededBug, faults: &[WorldFault]) {
    let all = number_of("MYRIAD_CLUSTER_SEEDS");
    let stops_early = all.is_none_or(|all| all < BUG_SEEDS);
    let (found, first) = simulate_all(0..BUG_SEEDS, Some(bug), faults, stops_early);
    let seeds = if stops_early { "up to 1000" } else { "1000" };
    println!("{bug:?}: {found} of {seeds} seeds; {}", first.as_deref().unwrap_or("not found"));
    assert!(found > 0, "{seeds} seeds do not find {bug:?}");
}

#[test]
fn bug_is_found_predecessor_ignored() {
    find(SeededBug::PredecessorIgnored);
}

#[test]
fn bug_is_found_receipt_before_apply() {
    find(SeededBug::ReceiptBeforeApply);
}

#[test]
fn bug_is_found_position_before_apply() {
    find(SeededBug::PositionBeforeApply);
}

#[test]
fn bug_is_found_lost_purges_forgotten() {
    find(SeededBug::LostPurgesForgotten);
}

#[test]
fn bug_is_found_no_rewind() {
    find(SeededBug::NoRewind);
}

#[test]
fn bug_is_found_gap_ignored() {
    find(SeededBug::GapIgnored);
}

#[test]
fn bug_is_found_sequence_without_lifetime() {
    find(SeededBug::SequenceWithoutLifetime);
}

#[test]
fn bug_is_found_age_limit_fixed() {
    find(SeededBug::AgeLimitFixed);
}

#[test]
fn bug_is_found_silent_members_trusted() {
    find(SeededBug::SilentMembersTrusted);
}

#[test]
fn bug_is_found_branches_confused() {
    find(SeededBug::BranchesConfused);
}

#[test]
fn bug_is_found_tag_ignored() {
    find(SeededBug::TagIgnored);
}

#[test]
fn bug_is_found_failed_save_confirmed() {
    find(SeededBug::FailedSaveConfirmed);
}

#[test]
fn bug_is_found_own_failed_save_ignored() {
    find_with(SeededBug::OwnFailedSaveIgnored, &[WorldFault::DiskFull, WorldFault::Crash]);
}

#[test]
fn bug_is_found_losses_ignored_for_pages() {
    find_with(SeededBug::LossesIgnoredForPages, &[WorldFault::Failover, WorldFault::Split, WorldFault::Cut]);
}

#[test]
fn bug_is_found_unlogged_purges_ignored() {
    find_with(SeededBug::UnloggedPurgesIgnored, &[WorldFault::Cut, WorldFault::Slow]);
}
