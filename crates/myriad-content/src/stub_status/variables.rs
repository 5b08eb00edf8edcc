//! Variables `$connections_*`.

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::RowValue::Made;

/// Numbers of client connections of all workers, as shown by `stub_status`.
pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new(
        "stub_status",
        "connections_active",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.total().active())),
    ),
    RequestVariable::new(
        "stub_status",
        "connections_reading",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.total().reading)),
    ),
    RequestVariable::new(
        "stub_status",
        "connections_writing",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.total().writing())),
    ),
    RequestVariable::new(
        "stub_status",
        "connections_waiting",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.total().waiting())),
    ),
];

#[cfg(test)]
mod tests {
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
}
