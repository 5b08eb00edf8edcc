//! Conversion of times in files, which are based on the clock of the process that wrote them.

/// Reference points of a clock, which make the times of two clocks comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReference {
    /// Identifier of the machine's boot. Clocks of the same boot are compared by its start, others by the Unix epoch.
    pub boot: u64,
    /// Time of the clock when the machine booted, in milliseconds.
    pub boot_at_ms: i64,
    /// Time of the clock at the Unix epoch, in milliseconds, according to the current system clock.
    pub epoch_at_ms: i64,
}

impl ClockReference {
    /// Returns the milliseconds to add to a time of the clock `other`.
    fn shift_from(self, other: Self) -> i64 {
        if self.boot == other.boot {
            self.boot_at_ms.saturating_sub(other.boot_at_ms)
        } else {
            self.epoch_at_ms.saturating_sub(other.epoch_at_ms)
        }
    }
}

/// Times of a file by the clock of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConvertedTimes {
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    /// Milliseconds that were added to both.
    pub(crate) shift_ms: i64,
}

impl ConvertedTimes {
    /// Converts the times at which a page was stored and stops being fresh from the clock `writer` to the clock `own`.
    ///
    /// If the system clock was set back, the page may be from the future: it counts as stored now, so that its lifetime
    /// does not grow.
    pub(crate) fn convert(
        (stored_at, fresh_until): (u64, u64),
        writer: ClockReference,
        own: ClockReference,
        now: u64,
    ) -> Self {
        let shift_ms = own.shift_from(writer);
        let late_ms = stored_at.saturating_add_signed(shift_ms).saturating_sub(now);
        let shift_ms = shift_ms.saturating_sub_unsigned(late_ms);
        let fresh_until = match fresh_until {
            0 => 0,
            time => time.saturating_add_signed(shift_ms),
        };
        Self { stored_at: stored_at.saturating_add_signed(shift_ms), fresh_until, shift_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const NOW: u64 = 1_000_000_000;

    /// Returns the times of a file, stored a minute before [`NOW`] by the clock `writer` and fresh for an hour, as a
    /// process reads it.
    fn read(writer: ClockReference, own: ClockReference) -> (i64, i64) {
        let (stored_at, fresh_until) = (NOW - 60_000, NOW - 60_000 + HOUR.unsigned_abs());
        let times = ConvertedTimes::convert((stored_at, fresh_until), writer, own, NOW);
        let since = |time: u64| time.cast_signed() - NOW.cast_signed();
        assert_eq!(since(times.stored_at) + 60_000, times.shift_ms);
        (since(times.stored_at), since(times.fresh_until))
    }

    fn clock(boot: u64, boot_at_ms: i64, epoch_at_ms: i64) -> ClockReference {
        ClockReference { boot, boot_at_ms, epoch_at_ms }
    }

    #[test]
    fn clocks_of_one_run_of_the_machine_are_compared_by_its_start() {
        // The system clock was set by days between writing and reading.
        for ahead in [-48 * HOUR, 0, 48 * HOUR] {
            assert_eq!(read(clock(1, 5000, 0), clock(1, 5000, ahead)), (-60_000, HOUR - 60_000));
        }
        // The reader started while the system clock was an hour late.
        assert_eq!(read(clock(1, 5000, 0), clock(1, 5000 - HOUR, 0)), (-60_000 - HOUR, -60_000));
    }

    #[test]
    fn clocks_of_two_runs_of_the_machine_are_compared_by_the_epoch() {
        assert_eq!(read(clock(1, 5000, 0), clock(2, 9000, 0)), (-60_000, HOUR - 60_000));
        // The system clock was set back by an hour while the writer ran.
        assert_eq!(read(clock(1, 5000, HOUR), clock(2, 9000, 0)), (-60_000 - HOUR, -60_000));
    }

    #[test]
    fn page_of_the_future_counts_as_stored_now_and_has_its_lifetime() {
        assert_eq!(read(clock(1, 0, -48 * HOUR), clock(2, 0, 0)), (0, HOUR));
        assert_eq!(read(clock(1, 0, 0), clock(2, 0, i64::MAX)), (0, HOUR));
    }

    #[test]
    fn soft_purge_holds_whatever_the_clocks_show() {
        let times = ConvertedTimes::convert((NOW - 1, 0), clock(1, 0, 0), clock(2, 0, 30_000), NOW);
        assert_eq!(times.fresh_until, 0);
    }
}
