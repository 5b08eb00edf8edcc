//! Conversion of the times in page files to the clock of this process. The clock that wrote a file may have had another
//! zero point.

/// Reference points of a clock in its own milliseconds. They are stored in every file and make the times of two clocks
/// comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReference {
    /// Identifier of the boot of the machine during which the clock runs. Two clocks with the same `boot` are compared
    /// by `boot_at_ms`, others by `epoch_at_ms`.
    pub boot: u64,
    /// Reading of this clock when the machine booted, in milliseconds.
    pub boot_at_ms: i64,
    /// Reading of this clock at the Unix epoch, in milliseconds, according to the system clock when this value was
    /// created.
    pub epoch_at_ms: i64,
}

impl ClockReference {
    /// Returns the number of milliseconds to add to a time of the clock `other` to get the time of this clock.
    fn shift_from(self, other: Self) -> i64 {
        if self.boot == other.boot {
            self.boot_at_ms.saturating_sub(other.boot_at_ms)
        } else {
            self.epoch_at_ms.saturating_sub(other.epoch_at_ms)
        }
    }
}

/// Times of a page (stored at, fresh until) from its file, converted to the clock of this process, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConvertedTimes {
    pub(crate) stored_at: u64,
    pub(crate) fresh_until: u64,
    /// Milliseconds that the conversion added to both times (`fresh_until` 0, which marks a stale page, is not
    /// changed).
    pub(crate) shift_ms: i64,
}

impl ConvertedTimes {
    /// Converts `stored_at` and `fresh_until` of a page from the clock `writer` to the clock `own`.
    ///
    /// If the result would be in the future, because the system clock was set back, the page counts as stored at `now`
    /// and retains its freshness lifetime. `fresh_until` 0 (soft-purged) remains 0.
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

    /// Returns the times relative to [`NOW`] that a process with the clock `own` reads from a file that was stored a
    /// minute before `NOW` by the clock `writer` and is fresh for an hour.
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
