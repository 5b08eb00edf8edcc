//! Sizes of TLS records, if `ssl_buffer_size` is not set.
//!
//! A client can use the data of a record only after its last byte has arrived. On a new connection, and after a pause
//! in which the congestion window shrinks, a record fits one packet, so that the first bytes of a response are usable
//! on arrival. After that, records have the maximum size, which causes the least overhead.

/// Number of plain bytes of a TLS record that fits one packet, with space for TCP options and IPv6.
const SMALL: usize = 1369;

/// Number of bytes sent after which TLS records are large: more than the first congestion windows.
const YOUNG: usize = 64 * 1024;

/// Pause of sending in milliseconds after which TLS records are small again.
const SILENCE_MS: u64 = 1000;

/// Number of bytes sent since the start of the connection or the last pause; determines the size of TLS records.
#[derive(Debug, Default)]
pub(super) struct RecordSizer {
    sent: usize,
    /// Time of the last call of [`Self::max_record_bytes`], in milliseconds.
    last_ms: u64,
}

impl RecordSizer {
    /// Returns the maximum number of plain bytes of the next record; `None` for the maximum of TLS.
    pub(super) fn max_record_bytes(&mut self, now_ms: u64) -> Option<usize> {
        if now_ms.saturating_sub(self.last_ms) > SILENCE_MS {
            self.sent = 0;
        }
        self.last_ms = now_ms;
        (self.sent < YOUNG).then_some(SMALL)
    }

    pub(super) fn record_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_grow_and_shrink_after_silence() {
        let mut records = RecordSizer::default();
        assert_eq!(records.max_record_bytes(5000), Some(SMALL));
        records.record_sent(YOUNG - 1);
        assert_eq!(records.max_record_bytes(5001), Some(SMALL));
        records.record_sent(1);
        assert_eq!(records.max_record_bytes(6001), None);
        assert_eq!(records.max_record_bytes(7002), Some(SMALL));
    }
}
