//! The page of the dashboard that the binary holds.

use std::process::Command;

use myriad_tests::workspace;

#[test]
fn built_page_is_what_its_source_makes() {
    let output = Command::new(workspace().join("scripts/check-dashboard")).output().expect("the script runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}
