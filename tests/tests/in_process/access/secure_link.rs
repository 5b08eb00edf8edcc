//! Tests of `$secure_link` and `$secure_link_expires`.

use myriad_serve::testing::variables::{VariableCase, assert_unset};

#[test]
fn variables_are_empty_without_secure_link() {
    assert_unset(&mut VariableCase::default().begin(), &["secure_link", "secure_link_expires"]);
}
