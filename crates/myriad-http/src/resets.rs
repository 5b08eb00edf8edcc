//! Requests that are broken off again and again ("rapid reset"), over HTTP/2 and HTTP/3.

/// How many requests of a connection may still end for nothing.
///
/// There is no clock: each request that is answered is worth one more. Someone who uses the connection never comes near the
/// limit, however long it lives.
#[derive(Clone, Copy, Debug)]
pub struct Resets {
    left: u32,
    most: u32,
}

impl Resets {
    /// The bound for a connection that may have so many streams open: twice as many resets, at least 100.
    pub fn new(streams: u32) -> Self {
        let most = streams.saturating_mul(2).max(100);
        Self { left: most, most }
    }

    /// A request has been answered to its end.
    pub fn answered(&mut self) {
        self.left = self.most.min(self.left + 1);
    }

    /// A request has ended for nothing: reset by the client, or because of what the client did. Whether that is one too many.
    #[must_use]
    pub fn wasted(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::Resets;

    fn wasted_at_last(resets: &mut Resets) -> usize {
        (0..10_000).take_while(|_| !resets.wasted()).count()
    }

    #[test]
    fn answers_make_up_for_resets_and_no_more() {
        let mut resets = Resets::new(128);
        (0..1000).for_each(|_| resets.answered());
        assert_eq!(wasted_at_last(&mut resets), 256);
        (0..3).for_each(|_| resets.answered());
        assert_eq!(wasted_at_last(&mut resets), 3);
        assert_eq!(wasted_at_last(&mut Resets::new(1)), 100);
    }
}
