//! Reason why a fetch got no usable response, and its encoding as the number that waiters get.

use myriad_policy::RefreshFailure;
use myriad_store::FetchFailure as StoreFailure;
use myriad_upstream::{ErrorKind, OriginError};

/// Reason why a fetch got no response that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoResponse {
    /// Status of the error response for clients.
    pub status: u16,
    /// Kind of failure, for the rules about stale pages (`*_cache_use_stale`).
    pub failure: RefreshFailure,
}

impl NoResponse {
    /// The zone has its maximum number of fetches (`max_fetches=`, `fetch_queue=`).
    pub(super) const TOO_MANY: Self = Self { status: 503, failure: RefreshFailure::Error };

    /// Returns the reason for a request that could not be built or has no target, and for a fetch that finished without a
    /// report; `status` is for clients.
    ///
    /// It counts as [`RefreshFailure::Error`], not as `NotAsked`, although the request may not have been sent: no limit of
    /// this server is the cause, so clients get no `Retry-After`, and of `*_cache_use_stale` only `error` applies.
    pub(crate) const fn unbuildable(status: u16) -> Self {
        Self { status, failure: RefreshFailure::Error }
    }

    /// Returns the reason for a failed request to the origin.
    pub(crate) fn of(error: &OriginError) -> Self {
        Self { status: error.status(), failure: failure(error) }
    }

    /// Encodes the reason as the number that all waiters get: the kind of failure times [`KIND`] plus the status.
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

    /// Decodes the number of [`NoResponse::encode`]. A number without a kind is the status of an origin's response.
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

/// Factor of the kind of failure, greater than every status.
const KIND: u16 = 1000;

/// Returns whether the origin caused the failure, rather than this server, a limit or the client's request body.
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

/// Returns the kind of a failed request to the origin, by which the rules of `*_cache_use_stale` decide about a stale
/// page.
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
