//! Reasons for a fetch without a response.

use myriad_policy::RefreshFailure;
use myriad_store::FetchFailure as StoreFailure;
use myriad_upstream::{ErrorKind, OriginError};

/// Reason for a missing response: the status for clients, and the failure for the rules of stale pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoResponse {
    /// Status for clients.
    pub status: u16,
    /// Failure for the rules of stale pages.
    pub failure: RefreshFailure,
}

impl NoResponse {
    /// The zone's limit of fetches is reached (`max_fetches=`, `fetch_queue=`).
    pub(super) const TOO_MANY: Self = Self { status: 503, failure: RefreshFailure::Error };

    pub(crate) fn of(error: &OriginError) -> Self {
        Self { status: error.status(), failure: failure(error) }
    }

    /// Encodes the reason as the number that a flight passes to all waiters: the kind of failure times `KIND` plus the
    /// status.
    pub(crate) fn encode(self) -> StoreFailure {
        let kind = match self.failure {
            RefreshFailure::Error => 1,
            RefreshFailure::Timeout => 2,
            RefreshFailure::InvalidHeader => 3,
            RefreshFailure::NotAsked(_) => 4,
            RefreshFailure::Http(_) => 0,
        };
        StoreFailure(kind * KIND + self.status)
    }

    /// Decodes the number of a flight.
    pub(crate) fn decode(failure_number: StoreFailure) -> Self {
        let status = failure_number.0 % KIND;
        let failure = match failure_number.0 / KIND {
            1 => RefreshFailure::Error,
            2 => RefreshFailure::Timeout,
            3 => RefreshFailure::InvalidHeader,
            4 => RefreshFailure::NotAsked(status),
            _ => RefreshFailure::Http(status),
        };
        Self { status, failure }
    }
}

/// Factor for the kind of failure, which exceeds every status.
const KIND: u16 = 1000;

/// Returns whether the origin caused a failure, rather than this server or a client.
pub(crate) fn is_of_the_origin(error: &OriginError) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Busy
            | ErrorKind::NotSent(_)
            | ErrorKind::Limited(_)
            | ErrorKind::NoConnection
            | ErrorKind::RequestBody(_)
    )
}

/// Returns the failure for the rules of stale pages.
pub(crate) fn failure(error: &OriginError) -> RefreshFailure {
    match error.kind() {
        ErrorKind::Timeout => RefreshFailure::Timeout,
        ErrorKind::NotSent(status) | ErrorKind::Limited(status) => RefreshFailure::NotAsked(*status),
        ErrorKind::InvalidHead | ErrorKind::TooLargeHead => RefreshFailure::InvalidHeader,
        _ => RefreshFailure::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flight_number_encodes_status_and_failure() {
        for failure in [RefreshFailure::Error, RefreshFailure::Timeout, RefreshFailure::InvalidHeader] {
            for status in [500, 502, 503, 504, 999] {
                let why = NoResponse { status, failure };
                assert_eq!(NoResponse::decode(why.encode()), why);
            }
        }
        let not_asked = NoResponse { status: 503, failure: RefreshFailure::NotAsked(503) };
        assert_eq!(NoResponse::decode(not_asked.encode()), not_asked);
        assert_eq!(NoResponse::decode(NoResponse::TOO_MANY.encode()), NoResponse::TOO_MANY);
    }

    #[test]
    fn status_of_an_origin_is_its_own_failure() {
        let why = NoResponse { status: 404, failure: RefreshFailure::Http(404) };
        assert_eq!(why.encode(), StoreFailure(404));
        assert_eq!(NoResponse::decode(StoreFailure(404)), why);
    }
}
