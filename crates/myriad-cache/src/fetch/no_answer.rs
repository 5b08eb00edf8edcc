//! Why a fetch has no answer.

use myriad_policy::Failure;
use myriad_store::Failure as StoreFailure;
use myriad_upstream::{ErrorKind, OriginError};

/// Why there is no answer: the status that says so, and the failure as the rules for stale pages tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer {
    /// The status.
    pub status: u16,
    /// The failure.
    pub failure: Failure,
}

impl NoAnswer {
    /// The bound of the zone's fetches is reached (`max_fetches=`, `fetch_queue=`).
    pub(super) const TOO_MANY: Self = Self { status: 503, failure: Failure::Error };

    pub(crate) fn of(error: &OriginError) -> Self {
        Self { status: error.status(), failure: failure(error) }
    }

    /// The number by which a flight tells it to all waiters: the status, and above it which failure.
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

    /// What the number of a flight stands for.
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

/// What a failure's number is multiplied with: more than any status.
const KIND: u16 = 1000;

/// Whether a failure is the origin's, and not of this server or of one visitor.
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

/// The failure as the rules for stale pages tell it.
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
    fn number_of_a_flight_tells_status_and_failure() {
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
