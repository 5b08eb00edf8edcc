//! Variable `$limit_req_status`.

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Access;
use myriad_exchange::runtime::RowValue::Ready;

/// Variable with the result of `limit_req` for the request; no value if no limit was checked or all keys were empty.
/// Limits with `origin_only` are not included.
pub(super) const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "limit_req",
    "limit_req_status",
    &[Access],
    Ready(|request| {
        request.outcome.limit_results.as_ref()?.requests.get().map(|status| status.as_str().as_bytes())
    }),
)];
