//! `scripts/try-plugins`, which compares the stored pages of WordPress plugins with PHP's.

use std::process::Command;

use myriad_tests::{Place, binary, workspace};

/// The check tries one plugin with dependencies that Myriad's plugin cannot observe, and one without.
#[test]
fn stale_and_foreign_pages_of_a_plugin_are_reported() {
    let place = Place::new();
    let mut command = Command::new(workspace().join("scripts/try-plugins"));
    command.arg("--self-check").arg("--myriad").arg(binary()).arg("--work").arg(place.folder());
    command.arg("--site-cache").arg(workspace().join("target/site-cache"));
    command.arg("--prefix").arg(place.path("trials"));
    let output = command.output().expect("scripts/try-plugins starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
