//! Commands and bytes at Valkey of clusters with many nodes and purges.

use super::number_of;
use super::partition_reports::partitions;
use super::traffic::Traffic;
use super::world::{FaultEnd, PAGES, World, WorldEvent};
use crate::node::NodeTimings;

/// Time after which all nodes have joined, in milliseconds.
const START_MS: u64 = 10_000;
/// Time that is counted, in seconds.
const COUNTED_S: u64 = 5;
/// Time after the last purge in which it is confirmed, in milliseconds.
const END_MS: u64 = 10_000;
/// Bytes of a purge of a page, with its URL and tags, without its number.
const PADDING: usize = 80;

/// Result of a run of a cluster without faults.
struct Load {
    /// Traffic of the [`COUNTED_S`] seconds with purges.
    traffic: Traffic,
    /// Number of partitions that all nodes together have detected since all have joined.
    partitions: u64,
}

/// Runs a cluster without faults.
fn run(hosts: usize, purges_per_second: u64) -> Load {
    let mut world = World::with_hosts(1, None, Some(hosts));
    world.timings = NodeTimings::default();
    world.padding = PADDING;
    for host in 0..hosts {
        let delay = world.random.u64(..2000);
        world.after(delay, WorldEvent::FaultEnds(FaultEnd::Restart(host)));
    }
    world.run_until(START_MS);
    assert_eq!(partitions(&world), vec![0; hosts], "after the start of {hosts} hosts");
    world.traffic = Traffic::default();
    for number in 0..COUNTED_S * purges_per_second {
        world.run_until(START_MS + number * 1000 / purges_per_second);
        let host = world.random.usize(..hosts);
        let key = world.random.u8(..PAGES);
        world.purge(host, key, 5000);
    }
    let end = START_MS + COUNTED_S * 1000;
    world.run_until(end);
    let traffic = std::mem::take(&mut world.traffic);
    world.is_healed = true;
    world.run_until(end + END_MS);
    world.check_convergence();
    assert_eq!(world.violation, None, "{hosts} hosts");
    assert!(world.purges.iter().all(|purge| purge.is_answered), "{hosts} hosts");
    Load { traffic, partitions: partitions(&world).iter().sum() }
}

/// Prints the traffic of a second, and returns its number of commands.
fn print(hosts: usize, purges: u64, load: &Load) -> u64 {
    let Load { traffic, partitions } = load;
    let megabytes = |bytes: u64| bytes as f64 / COUNTED_S as f64 / 1e6;
    let sum =
        |count: fn(&super::traffic::CommandTraffic) -> u64| traffic.sent.values().map(count).sum::<u64>();
    let commands = sum(|count| count.commands) / COUNTED_S;
    println!(
        "{hosts} nodes, {purges} purges a second: {commands} commands a second, {:.2} MB to Valkey, {:.2} MB from Valkey; \
         {partitions} partitions detected",
        megabytes(sum(|count| count.bytes)),
        megabytes(traffic.reply_bytes)
    );
    for (name, count) in &traffic.sent {
        println!("    {name:<16} {:>8} {:>8.2} MB", count.commands / COUNTED_S, megabytes(count.bytes));
    }
    commands
}

/// The bounds are a quarter above the figures of docs/performance.md. `make cluster-traffic` prints those of larger clusters,
/// in which a node detects a partition now and then, because many delays of the simulated network add up.
#[test]
fn commands_of_a_large_cluster_are_bounded() {
    if let (Some(hosts), Some(purges)) =
        (number_of("MYRIAD_CLUSTER_NODES"), number_of("MYRIAD_CLUSTER_PURGES"))
    {
        print(hosts as usize, purges, &run(hosts as usize, purges));
        return;
    }
    let hosts = 20;
    for (purges, max_commands) in [(0, 5 * hosts as u64), (100, 4000)] {
        let load = run(hosts, purges);
        assert!(print(hosts, purges, &load) <= max_commands);
        assert_eq!(load.partitions, 0, "{hosts} hosts, {purges} purges a second");
    }
}
