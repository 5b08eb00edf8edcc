//! Everything around the server fails in turn, and the server itself, under the traffic of a real WordPress.
//!
//! The harness is `bench/soak.py`, which `make soak` runs for an hour; here each fault comes once. What it leaves out without root, or without
//! a part of the kernel, it says.

use std::process::Command;

use myriad_tests::{Place, binary, workspace};

#[test]
fn stored_pages_are_served_whatever_fails_behind_and_around_the_server() {
    let place = Place::new();
    let mut soak = Command::new("python3");
    soak.arg(workspace().join("bench/soak.py"))
        .args(["--short", "--seed", "17", "--folder"])
        .arg(place.path("soak"));
    let output = soak.env("MYRIAD", binary()).output().expect("python3, of the packages of scripts/packages");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // These need nothing that a machine may lack: they have been tried.
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
