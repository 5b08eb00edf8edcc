//! Variable `$limit_req_status`.

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Access;
use myriad_exchange::runtime::RowValue::Ready;

/// Result of `limit_req` for the request; no value if no limit was checked.
pub(super) const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "limit_req",
    "limit_req_status",
    &[Access],
    Ready(|request| {
        request.outcome.limit_results.as_ref()?.requests.get().map(|status| status.as_str().as_bytes())
    }),
)];

#[cfg(test)]
mod tests {
    use myriad_exchange::exchange::LimitStatus;
    use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};

    #[test]
    fn the_check_shows_what_it_came_to() {
        let mut exchange = VariableCase::default().begin();
        assert_unset(&mut exchange, &["limit_req_status"]);
        exchange.request.limit_results().requests.set(Some(LimitStatus::Passed));
        assert_variables(&mut exchange, &[("limit_req_status", "PASSED")]);
    }
}
