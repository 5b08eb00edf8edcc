//! Variable `$limit_conn_status`.

use myriad_exchange::exchange::variables::Row;
use myriad_exchange::runtime::Reads::Access;
use myriad_exchange::runtime::Value::Ready;

/// Variable with the result of the check; no value if the check did not run.
pub(super) const VARIABLES: &[Row] = &[Row::new(
    "limit_conn",
    "limit_conn_status",
    &[Access],
    Ready(|request| {
        request.outcome.visit.as_ref()?.connections.get().map(|status| status.as_str().as_bytes())
    }),
)];

#[cfg(test)]
mod tests {
    use myriad_exchange::exchange::LimitStatus;
    use myriad_serve::testing::variables::{Case, lacks, shows};

    #[test]
    fn the_check_shows_what_it_came_to() {
        let mut exchange = Case::default().begin();
        lacks(&mut exchange, &["limit_conn_status"]);
        exchange.request.visit().connections.set(Some(LimitStatus::Rejected));
        shows(&mut exchange, &[("limit_conn_status", "REJECTED")]);
    }
}
