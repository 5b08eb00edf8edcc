//! Variables `$connections_*`.

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::show;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::RowValue::Made;

/// Variables with the numbers of client connections of all workers, as shown by `stub_status`.
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
