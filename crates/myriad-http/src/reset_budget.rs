//! Limit for cancelled requests ("rapid reset") in HTTP/2 and HTTP/3.

/// Number of requests on an HTTP/2 or HTTP/3 connection that the peer may still waste: by a reset, or by an error that
/// causes one (protection against rapid resets).
///
/// No clock is used: each completed request adds one, up to the initial number. Normal use of a connection never
/// reaches the limit, whatever its age.
#[derive(Clone, Copy, Debug)]
pub struct ResetBudget {
    left: u32,
    most: u32,
}

impl ResetBudget {
    /// Creates the limit for a connection with at most `streams` concurrent streams: twice that number of resets, and
    /// at least 100.
    pub fn new(streams: u32) -> Self {
        let most = streams.saturating_mul(2).max(100);
        Self { left: most, most }
    }

    /// Records a request with a complete response, which permits one more reset.
    pub fn record_answered(&mut self) {
        self.left = self.most.min(self.left + 1);
    }

    /// Records a request that the peer has reset, or that was reset because of an error of the peer. Returns true if
    /// the limit is exceeded, so that the connection must be closed.
    #[must_use]
    pub fn record_reset(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::ResetBudget;

    fn wasted_at_last(resets: &mut ResetBudget) -> usize {
        (0..10_000).take_while(|_| !resets.record_reset()).count()
    }

    #[test]
    fn answers_make_up_for_resets_and_no_more() {
        let mut resets = ResetBudget::new(128);
        (0..1000).for_each(|_| resets.record_answered());
        assert_eq!(wasted_at_last(&mut resets), 256);
        (0..3).for_each(|_| resets.record_answered());
        assert_eq!(wasted_at_last(&mut resets), 3);
        assert_eq!(wasted_at_last(&mut ResetBudget::new(1)), 100);
    }
}
