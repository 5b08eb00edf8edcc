//! Reasons for a fetch without a response.

use myriad_policy::Failure;
use myriad_store::Failure as StoreFailure;
use myriad_upstream::{ErrorKind, OriginError};

/// Reason for a missing response: the status for clients, and the failure for the rules of stale pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer {
    /// Status for clients.
    pub status: u16,
    /// Failure for the rules of stale pages.
    pub failure: Failure,
}

impl NoAnswer {
    /// The zone's limit of fetches is reached (`max_fetches=`, `fetch_queue=`).
    pub(super) const TOO_MANY: Self = Self { status: 503, failure: Failure::Error };

    pub(crate) fn of(error: &OriginError) -> Self {
        Self { status: error.status(), failure: failure(error) }
    }

    /// Encodes the reason as the number that a flight passes to all waiters: the kind of failure times `KIND` plus the
    /// status.
    pub(crate) fn encode(self) -> StoreFailure {
        let kind = match self.failure {
            Failure::Error => 1,
            Failure::Timeout => 2,
            Failure::InvalidHeader => 3,
            Failure::NotAsked(_) => 4,
            Failure::Http(_) => 0,
        };
        StoreFailure(kind * KIND + self.status)
    }

    /// Decodes the number of a flight.
    pub(crate) fn decode(told: StoreFailure) -> Self {
        let status = told.0 % KIND;
        let failure = match told.0 / KIND {
            1 => Failure::Error,
            2 => Failure::Timeout,
            3 => Failure::InvalidHeader,
            4 => Failure::NotAsked(status),
            _ => Failure::Http(status),
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
            | ErrorKind::NotAsked(_)
            | ErrorKind::Limited(_)
            | ErrorKind::NoConnection
            | ErrorKind::RequestBody(_)
    )
}

/// Returns the failure for the rules of stale pages.
pub(crate) fn failure(error: &OriginError) -> Failure {
    match error.kind() {
        ErrorKind::Timeout => Failure::Timeout,
        ErrorKind::NotAsked(status) | ErrorKind::Limited(status) => Failure::NotAsked(*status),
        ErrorKind::InvalidHead | ErrorKind::TooLargeHead => Failure::InvalidHeader,
        _ => Failure::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flight_number_encodes_status_and_failure() {
        for failure in [Failure::Error, Failure::Timeout, Failure::InvalidHeader] {
            for status in [500, 502, 503, 504, 999] {
                let why = NoAnswer { status, failure };
                assert_eq!(NoAnswer::decode(why.encode()), why);
            }
        }
        let not_asked = NoAnswer { status: 503, failure: Failure::NotAsked(503) };
        assert_eq!(NoAnswer::decode(not_asked.encode()), not_asked);
        assert_eq!(NoAnswer::decode(NoAnswer::TOO_MANY.encode()), NoAnswer::TOO_MANY);
    }

    #[test]
    fn status_of_an_origin_is_its_own_failure() {
        let why = NoAnswer { status: 404, failure: Failure::Http(404) };
        assert_eq!(why.encode(), StoreFailure(404));
        assert_eq!(NoAnswer::decode(StoreFailure(404)), why);
    }
}
