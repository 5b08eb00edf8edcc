//! `$connections_*`: connections of all workers.

use myriad_exchange::exchange::variables::Row;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::Value::Made;

/// Numbers of connections, as on the page.
pub(super) const VARIABLES: &[Row] = &[
    Row::new(
        "stub_status",
        "connections_active",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.everybody().active())),
    ),
    Row::new(
        "stub_status",
        "connections_reading",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.everybody().reading)),
    ),
    Row::new(
        "stub_status",
        "connections_writing",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.everybody().writing())),
    ),
    Row::new(
        "stub_status",
        "connections_waiting",
        &[Moment],
        Made(|request, out| show(out, request.site.worker.everybody().waiting())),
    ),
];

#[cfg(test)]
mod tests {
    use myriad_serve::testing::variables::{Case, shows};

    #[test]
    fn connection_counts_are_zero_without_sockets() {
        shows(
            &mut Case::default().begin(),
            &[
                ("connections_active", "0"),
                ("connections_reading", "0"),
                ("connections_writing", "0"),
                ("connections_waiting", "0"),
            ],
        );
    }
}
