//! How large records are where `ssl_buffer_size` does not say.
//!
//! A client can use nothing of a record before its last byte has come. While a connection is young, or has been silent for so
//! long that the congestion window has shrunk, records are those of one packet each, and the first of a page is shown as soon
//! as it is there; then they are as large as can be, which costs the least.

/// Plain bytes of a record that fits one packet, with room for the options of TCP and for IPv6.
const SMALL: usize = 1369;

/// Bytes after which records are large: more than the first congestion windows hold.
const YOUNG: usize = 64 * 1024;

/// Silence after which a connection counts as young again, milliseconds.
const SILENCE_MS: u64 = 1000;

/// What has been sent of late.
#[derive(Debug, Default)]
pub(super) struct Records {
    sent: usize,
    last_ms: u64,
}

impl Records {
    /// Plain bytes of the next record at most, none for as many as there can be.
    pub(super) fn most(&mut self, now_ms: u64) -> Option<usize> {
        if now_ms.saturating_sub(self.last_ms) > SILENCE_MS {
            self.sent = 0;
        }
        self.last_ms = now_ms;
        (self.sent < YOUNG).then_some(SMALL)
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_grow_and_shrink_after_silence() {
        let mut records = Records::default();
        assert_eq!(records.most(5000), Some(SMALL));
        records.sent(YOUNG - 1);
        assert_eq!(records.most(5001), Some(SMALL));
        records.sent(1);
        assert_eq!(records.most(6001), None);
        assert_eq!(records.most(7002), Some(SMALL));
    }
}
