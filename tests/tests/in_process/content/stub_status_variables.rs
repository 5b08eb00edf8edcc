//! Tests of the variables `$connections_*`.

use myriad_serve::testing::variables::{VariableCase, assert_variables};

#[test]
fn connection_counts_are_zero_without_sockets() {
    assert_variables(
        &mut VariableCase::default().begin(),
        &[
            ("connections_active", "0"),
            ("connections_reading", "0"),
            ("connections_writing", "0"),
            ("connections_waiting", "0"),
        ],
    );
}
