//! Rate limit of one direction of a session (`proxy_upload_rate`, `proxy_download_rate`).

use myriad_net::clock::monotonic_ms;

/// Rate limit of one direction (upload or download) of a `stream` session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectionRate {
    /// Bytes per second; 0 for no limit.
    rate: u64,
    /// Start of the session's relay, in milliseconds of the monotonic clock.
    since_ms: u64,
}

impl DirectionRate {
    /// Creates a limit of `rate` bytes per second (0 for no limit), starting now.
    pub(crate) fn new(rate: u64) -> Self {
        Self { rate, since_ms: monotonic_ms() }
    }

    /// Returns the number of bytes that may be read now, if `moved` bytes were read since the start; if none may be
    /// read, `Err` with the time to wait in milliseconds. As in nginx, the allowance of a second is available at its
    /// start.
    pub(crate) fn allowance(&self, moved: u64) -> Result<usize, u64> {
        self.allowance_at(monotonic_ms(), moved)
    }

    fn allowance_at(&self, now_ms: u64, moved: u64) -> Result<usize, u64> {
        if self.rate == 0 {
            return Ok(usize::MAX);
        }
        let seconds = now_ms.saturating_sub(self.since_ms) / 1000 + 1;
        let allowed = self.rate.saturating_mul(seconds);
        if moved < allowed {
            return Ok(usize::try_from(allowed - moved).unwrap_or(usize::MAX));
        }
        let over = moved - allowed;
        Err((over.saturating_mul(1000) / self.rate).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::DirectionRate;

    #[test]
    fn a_second_has_its_bytes_at_once_and_then_no_more() {
        let pace = DirectionRate { rate: 100, since_ms: 5000 };
        assert_eq!(pace.allowance_at(5000, 0), Ok(100));
        assert_eq!(pace.allowance_at(5999, 40), Ok(60));
        assert_eq!(pace.allowance_at(5999, 100), Err(1));
        assert_eq!(pace.allowance_at(6000, 100), Ok(100));
        assert_eq!(pace.allowance_at(6000, 400), Err(2001));
        assert_eq!(DirectionRate { rate: 0, since_ms: 0 }.allowance_at(0, u64::MAX), Ok(usize::MAX));
    }
}
