//! Failures of every component around the server, and of the server itself, under the traffic of a real WordPress.
//!
//! The harness is `bench/soak.py`, which `make soak` runs for an hour with every ordered pair of faults; here each
//! fault occurs once. It prints the faults that it skips without root or because the kernel lacks a feature.

use std::process::Command;

use myriad_tests::{Place, binary, workspace};

#[test]
fn stored_pages_are_served_whatever_fails_around_server() {
    let place = Place::new();
    let mut soak = Command::new("python3");
    soak.arg(workspace().join("bench/soak.py"))
        .args(["--short", "--seed", "17", "--folder"])
        .arg(place.path("soak"));
    let output = soak.env("MYRIAD", binary()).output().expect("python3, of the packages of scripts/packages");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // These faults have no requirements, so they must not be skipped.
    for fault in [
        "PhpStalls",
        "PhpDies",
        "DatabaseStalls",
        "DatabaseDies",
        "RedisDies",
        "WorkerDies",
        "FilesAreDamaged",
    ] {
        assert!(said.contains(&format!("{fault}: ")), "{fault} was not tried:\n{said}");
    }
    assert!(said.ends_with("0 failures\n"), "{said}");
}

/// Returns the rounds of `count` faults, initially in the order 0, 1, ….
fn rounds(count: usize, seed: u32) -> Vec<Vec<usize>> {
    let program = format!(
        "import random, faults\n\
         for faults_of_round in faults.rounds_of_pairs(list(range({count})), random.Random({seed})): print(*faults_of_round)"
    );
    let mut python = Command::new("python3");
    let output =
        python.args(["-c", &program]).env("PYTHONPATH", workspace().join("bench")).output().expect("python3");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    said.lines()
        .map(|line| line.split(' ').map(|number| number.parse().expect("a fault")).collect())
        .collect()
}

#[test]
fn each_fault_follows_each_other_fault_once_in_an_order_of_the_seed() {
    for count in [1, 2, 3, 4, 15] {
        let order = rounds(count, 1);
        assert_eq!(order[0], (0..count).collect::<Vec<_>>());
        let mut pairs: Vec<_> = order.iter().flat_map(|round| round.windows(2)).collect();
        assert_eq!(pairs.len(), count * (count - 1));
        pairs.sort_unstable();
        pairs.dedup();
        assert!(pairs.iter().all(|pair| pair[0] != pair[1]));
        assert_eq!(pairs.len(), count * (count - 1), "{order:?}");
        for (round, next) in order.iter().zip(order.iter().skip(1)) {
            assert_eq!(round.last(), next.first());
        }
    }
    assert_eq!(rounds(15, 1), rounds(15, 1));
    assert_ne!(rounds(15, 1), rounds(15, 2));
}
