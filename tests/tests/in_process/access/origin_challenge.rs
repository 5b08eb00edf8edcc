//! Tests of `$challenge_passed`.

use myriad_serve::testing::variables::{VariableCase, assert_unset};

#[test]
fn challenge_passed_is_empty_without_challenge() {
    assert_unset(&mut VariableCase::default().begin(), &["challenge_passed"]);
}
