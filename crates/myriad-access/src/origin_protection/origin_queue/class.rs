//! Priority classes of requests in the queue.

/// Number of priority classes of requests that wait for an origin.
pub(super) const CLASSES: usize = 4;

/// Priority class of a request; 0 is the highest priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PriorityClass(u8);

impl PriorityClass {
    /// Class of requests to locations without `origin_priority`, or for which its value names no class.
    pub(super) const NORMAL: Self = Self(1);
    /// Lowest class, for example of requests that no client waits for.
    pub(super) const LAST: Self = Self(3);

    /// Parses `high`, `normal`, `low`, `last`, or their numbers from 0 to 3; `None` for any other text.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let class = match text {
            b"high" | b"0" => 0,
            b"normal" | b"1" => 1,
            b"low" | b"2" => 2,
            b"last" | b"3" => 3,
            _ => return None,
        };
        Some(Self(class))
    }

    /// Returns the number of the class, below [`CLASSES`].
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Returns the effective class of a request of class `class` after a wait of `waited_ms`: each `lift_ms` raises it by
/// one class, so that a steady stream of requests of higher classes cannot starve it.
pub(super) fn rank(class: usize, waited_ms: u64, lift_ms: u64) -> usize {
    let lifts = usize::try_from(waited_ms / lift_ms.max(1)).unwrap_or(usize::MAX);
    class.saturating_sub(lifts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_names_and_numbers() {
        for (names, number) in
            [(["high", "0"], 0), (["normal", "1"], 1), (["low", "2"], 2), (["last", "3"], 3)]
        {
            for name in names {
                assert_eq!(
                    PriorityClass::parse(name.as_bytes()).map(PriorityClass::index),
                    Some(number),
                    "{name}"
                );
            }
        }
        assert_eq!(PriorityClass::parse(b"4"), None);
        assert_eq!(PriorityClass::parse(b""), None);
    }

    #[test]
    fn waiting_lifts_a_request_up_to_the_first_class() {
        assert_eq!(rank(3, 0, 100), 3);
        assert_eq!(rank(3, 99, 100), 3);
        assert_eq!(rank(3, 100, 100), 2);
        assert_eq!(rank(3, 1_000_000, 100), 0);
        assert_eq!(rank(3, 5, 0), 0);
    }
}
