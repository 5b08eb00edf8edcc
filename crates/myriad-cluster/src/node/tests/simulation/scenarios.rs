//! Single events in a cluster without other faults.

use super::agree;
use super::world::{FaultEnd, PAGES, World, WorldEvent};
use crate::node::ClusterEvent;
use crate::record::{MemberRecord, MemberState};

/// Terminates the process of a host immediately.
fn kill(world: &mut World, host: usize) {
    world.hosts[host].node = None;
    world.hosts[host].connection.is_open = false;
}

/// Returns true if each running node of the first `hosts` hosts counts the host `member` as a member.
fn all_expect(world: &World, hosts: usize, member: usize) -> bool {
    let name = &world.hosts[member].name;
    world.hosts[..hosts].iter().filter_map(|host| host.node.as_ref()).all(|node| node.expects(name))
}

fn none_expects(world: &World, member: usize) -> bool {
    let name = &world.hosts[member].name;
    !world.hosts.iter().filter_map(|host| host.node.as_ref()).any(|node| node.expects(name))
}

#[test]
fn forgotten_node_is_removed_on_all_nodes_until_it_starts_again() {
    for seed in 0..20 {
        let (mut world, _) = agree(seed);
        let last = world.hosts.len() - 1;
        let name = world.hosts[last].name.clone();
        let bytes = world.servers[world.primary].data.members[&name].clone();
        let record = MemberRecord::decode(&world.secret, &name, &bytes).expect("a valid record");
        kill(&mut world, last);
        world.node(0, ClusterEvent::Forget(name.clone()));
        world.run_until(33_000);
        assert!(none_expects(&world, last), "seed {seed}");

        // A write of the process that was delayed in the network.
        let late = MemberRecord { counter: record.counter + 1, ..record }.encode(&world.secret, &name);
        let primary = world.primary;
        world.servers[primary].data.members.insert(name.clone(), late);
        world.run_until(36_000);
        assert!(none_expects(&world, last), "seed {seed}");
        let bytes = &world.servers[world.primary].data.members[&name];
        let record = MemberRecord::decode(&world.secret, &name, bytes).expect("a valid record");
        assert_eq!(record.state, MemberState::Removed, "seed {seed}");

        world.after(0, WorldEvent::FaultEnds(FaultEnd::Restart(last)));
        world.run_until(45_000);
        world.check_convergence();
        assert_eq!(world.violation, None, "seed {seed}");
        assert!(all_expect(&world, last, last), "seed {seed}");
    }
}

#[test]
fn forgotten_node_that_runs_makes_its_pages_stale_and_joins_again() {
    for seed in 0..20 {
        let (mut world, expired) = agree(seed);
        let last = world.hosts.len() - 1;
        let name = world.hosts[last].name.clone();
        world.node(0, ClusterEvent::Forget(name));
        assert!(!all_expect(&world, 1, last), "seed {seed}");
        world.run_until(40_000);
        world.check_convergence();
        assert_eq!(world.violation, None, "seed {seed}");
        assert!(all_expect(&world, last, last), "seed {seed}");
        let mut expected = expired;
        expected[last] += 1;
        assert_eq!(super::expirations(&world), expected, "seed {seed}");
    }
}

fn member_record(world: &World, host: usize) -> MemberRecord {
    let name = &world.hosts[host].name;
    let bytes = &world.servers[world.primary].data.members[name];
    MemberRecord::decode(&world.secret, name, bytes).expect("a valid record")
}

#[test]
fn restored_record_of_an_earlier_lifetime_does_not_replace_that_of_a_running_node() {
    for (seed, state) in (0..20).flat_map(|seed| [(seed, MemberState::Left), (seed, MemberState::Active)]) {
        let (mut world, _) = agree(seed);
        let last = world.hosts.len() - 1;
        let name = world.hosts[last].name.clone();
        let early = MemberRecord { state, ..member_record(&world, last) };
        kill(&mut world, last);
        world.after(0, WorldEvent::FaultEnds(FaultEnd::Restart(last)));
        world.run_until(40_000);
        assert!(member_record(&world, last).generation > early.generation, "seed {seed}");
        world.hosts[last].is_cut = true;
        world.run_until(40_500);
        let primary = world.primary;
        let restored = early.encode(&world.secret, &name);
        world.servers[primary].data.members.insert(name, restored);
        world.run_until(48_000);
        assert!(all_expect(&world, last, last), "seed {seed}");
        let purge = world.purge(0, 0, 1000);
        world.run_until(50_000);
        let version = world.purges[purge].version;
        assert!(world.hosts[last].required.get(&0).is_none_or(|&required| required < version), "seed {seed}");
        world.hosts[last].is_cut = false;
        world.run_until(60_000);
        world.check_convergence();
        assert_eq!(world.violation, None, "seed {seed}");
    }
}

#[test]
fn node_joins_again_after_the_list_of_members_was_lost_with_or_without_its_position_file() {
    for (seed, has_disk) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let (mut world, _) = agree(seed);
        let last = world.hosts.len() - 1;
        for time in [32_000, 40_000] {
            kill(&mut world, last);
            world.after(0, WorldEvent::FaultEnds(FaultEnd::Restart(last)));
            world.run_until(time);
        }
        let generation = member_record(&world, last).generation;
        kill(&mut world, last);
        if !has_disk {
            world.hosts[last].disk = super::host::DiskModel::default();
        }
        // Commands of the killed process may still arrive.
        world.run_until(41_000);
        world.server_fault(super::WorldFault::LoseAll);
        world.run_until(42_000);
        world.after(0, WorldEvent::FaultEnds(FaultEnd::Restart(last)));
        world.run_until(70_000);
        world.check_convergence();
        assert_eq!(world.violation, None, "seed {seed}");
        let restarted = member_record(&world, last).generation;
        let expected = if has_disk { generation + 1 } else { 1 };
        assert_eq!(restarted, expected, "seed {seed}");
        let behind = world.hosts[0]
            .node
            .as_ref()
            .and_then(|node| node.status(world.hosts[0].clock.at(world.time)).behind_ms);
        assert!(behind.is_some_and(|behind| behind < 5000), "seed {seed}: {behind:?}");
    }
}

#[test]
fn answer_does_not_wait_for_silent_members() {
    for seed in 0..20 {
        let (mut world, _) = agree(seed);
        let last = world.hosts.len() - 1;
        kill(&mut world, last);
        world.run_until(30_100);
        let early = world.purge(0, 0, 60_000);
        world.run_until(31_000);
        assert!(
            !world.purges[early].is_answered,
            "seed {seed}: the answer waits for a member that may reply"
        );
        world.run_until(38_000);
        assert!(world.purges[early].is_answered, "seed {seed}");
        let purge = world.purge(0, 0, 60_000);
        world.run_until(39_000);
        assert!(world.purges[purge].is_answered, "seed {seed}");
    }
}

#[test]
fn own_purge_is_in_the_position_file_within_two_seconds() {
    for seed in 0..20 {
        let (mut world, _) = agree(seed);
        world.hosts[0].is_cut = true;
        world.run_until(32_000);
        let purge = world.purge(0, 0, 60_000);
        world.run_until(34_500);
        let file = world.hosts[0].disk.position.as_ref().expect("the position file was written");
        let stored = crate::record::StoredNode::decode(&world.secret, &world.hosts[0].name, file);
        let body = (purge as u32).to_le_bytes();
        assert!(stored.expect("a valid file").pending.iter().any(|purge| *purge.body == body), "seed {seed}");
    }
}

#[test]
fn purges_that_were_replaced_by_one_of_their_zone_are_in_effect_on_all_nodes() {
    for seed in 0..20 {
        let mut world = World::new(seed, None);
        world.timings.max_unsent_bytes = 300;
        for host in 0..world.hosts.len() {
            world.start(host);
        }
        world.after(0, WorldEvent::Visit);
        world.run_until(20_000);
        world.hosts[0].is_cut = true;
        world.run_until(25_000);
        for number in 0..30 {
            world.purge(0, number % PAGES, 1000);
        }
        let pending = world.hosts[0].node.as_ref().map(|node| node.status(0).pending_count);
        assert!(pending.is_some_and(|pending| pending <= 8), "seed {seed}: {pending:?}");
        world.run_until(30_000);
        world.hosts[0].is_cut = false;
        world.is_healed = true;
        world.run_until(50_000);
        world.check_convergence();
        assert_eq!(world.violation, None, "seed {seed}");
    }
}

#[test]
fn name_of_two_processes_belongs_to_the_one_that_started_later() {
    for seed in 0..20 {
        let mut world = World::new(seed, None);
        world.hosts[2].name = world.hosts[1].name.clone();
        world.start(0);
        world.start(1);
        world.run_until(10_000);
        world.start(2);
        world.run_until(20_000);
        let is_taken = |world: &World, host: usize| {
            world.hosts[host].node.as_ref().map(|node| node.status(0).is_name_taken)
        };
        assert_eq!((is_taken(&world, 1), is_taken(&world, 2)), (Some(true), Some(false)), "seed {seed}");
        let position = world.hosts[1].disk.position.clone();
        world.purge(0, 0, 1000);
        let sent = world.purge(1, 1, 1000);
        world.run_until(35_000);
        assert_eq!((is_taken(&world, 1), is_taken(&world, 2)), (Some(true), Some(false)), "seed {seed}");
        assert!(world.hosts[1].disk.position == position, "seed {seed}: the position was stored");
        let version = world.purges[sent].version;
        assert_eq!(world.hosts[0].required.get(&1).copied(), Some(version), "seed {seed}");

        kill(&mut world, 2);
        world.run_until(50_000);
        assert_eq!(is_taken(&world, 1), Some(false), "seed {seed}");
        assert!(all_expect(&world, 1, 1), "seed {seed}");
    }
}

#[test]
fn simultaneous_purges_of_two_nodes_are_confirmed_at_once() {
    for seed in 0..20 {
        let (mut world, _) = agree(seed);
        let purges = [world.purge(0, 0, 60_000), world.purge(1, 1, 60_000)];
        world.run_until(30_900);
        assert!(purges.iter().all(|&purge| world.purges[purge].is_answered), "seed {seed}");
    }
}
