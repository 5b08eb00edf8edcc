//! Tests of `$device_class`.

use myriad_serve::testing::variables::{VariableCase, assert_variables};

#[test]
fn phones_have_their_own_class() {
    let agent =
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36";
    assert_variables(
        &mut VariableCase { fields: &[("User-Agent", agent)], ..VariableCase::default() }.begin(),
        &[("device_class", "mobile")],
    );
    assert_variables(&mut VariableCase::default().begin(), &[("device_class", "desktop")]);
}
