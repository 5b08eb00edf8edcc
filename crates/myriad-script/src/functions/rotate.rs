//! `set_rotate`: a cyclic counter.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::functions::function::{Function, text};
use crate::functions::number::{number, range};

/// Value of the counter of `set_rotate` before the first call.
const NONE: i64 = -1;

/// Creates the function of `set_rotate`. Its texts are a number and two bounds. The value is the number plus 1, or the
/// lower bound if the sum is outside of the bounds. If the first text is not a number, the previous value of the
/// counter takes its position; the first value is then the lower bound. A bound that is not a number is an error. All
/// workers share the counter.
pub fn rotate() -> Function {
    let latest = AtomicI64::new(NONE);
    Function::of_varying(move |texts, _, out| {
        let (from, to) = range(text(texts, 1), text(texts, 2))?;
        let next = |current: i64| {
            let next = current.saturating_add(1);
            if (from..=to).contains(&next) { next } else { from }
        };
        let given = number(text(texts, 0), "current").ok();
        let after = |latest: i64| match (given, latest) {
            (Some(given), _) => next(given),
            (None, NONE) => from,
            (None, latest) => next(latest),
        };
        let before = latest.fetch_update(Relaxed, Relaxed, |latest| Some(after(latest)));
        let made = after(before.unwrap_or_else(|latest| latest));
        out.extend_from_slice(made.to_string().as_bytes());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function::shown;

    #[test]
    fn number_that_is_given_is_followed_by_the_next() {
        for (given, next) in [("1", "2"), ("2", "3"), ("3", "1"), ("0", "1"), ("7", "1")] {
            assert_eq!(shown(&rotate(), &[given, "1", "3"]), next, "{given}");
        }
        assert_eq!(shown(&rotate(), &[&i64::MAX.to_string(), "3", "1"]), "1");
    }

    #[test]
    fn latest_number_is_stored() {
        let function = rotate();
        let made: Vec<_> = (0..5).map(|_| shown(&function, &["", "0", "2"])).collect();
        assert_eq!(made, ["0", "1", "2", "0", "1"]);
        assert_eq!(shown(&function, &["hello", "0", "2"]), "2");
        assert_eq!(shown(&function.clone(), &["", "0", "2"]), "0", "a copy has the same memory");
        assert_eq!(shown(&function, &["0", "0", "2"]), "1", "what is given counts");
        assert_eq!(shown(&function, &["", "0", "2"]), "2", "and is kept");
    }

    #[test]
    fn bounds_are_numbers() {
        assert_eq!(shown(&rotate(), &["2", "abc", "3"]), "!bad \"from\" argument value: \"abc\"");
        assert_eq!(shown(&rotate(), &["2", "1", ""]), "!bad \"to\" argument value: \"\"");
    }
}
