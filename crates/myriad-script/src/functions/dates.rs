//! Functions of `set_*` directives that return the current date and time.

use myriad_base::calendar::{ZoneOffset, offset_name, write_time};

use crate::functions::function::{FunctionError, FunctionInputs, text};

/// Maximum length of a formatted time of `set_formatted_*_time`, in bytes, as in the nginx module.
const LONGEST: usize = 255;

/// Appends the local date, such as `2026-11-23` (`set_local_today`).
///
/// # Errors
/// Never returns an error.
pub fn local_today(_: &[&[u8]], around: &dyn FunctionInputs, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    write_time(b"%Y-%m-%d", around.now_s(), ZoneOffset { minutes: around.offset_minutes(), name: "" }, out);
    Ok(())
}

/// Appends the current time in UTC; the first text is its format, as for `strftime` (`set_formatted_gmt_time`).
///
/// # Errors
/// Returns an error if the result is longer than 255 bytes.
pub fn gmt(texts: &[&[u8]], around: &dyn FunctionInputs, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    formatted(text(texts, 0), around.now_s(), ZoneOffset { minutes: 0, name: "GMT" }, out)
}

/// Appends the current local time of the server; the first text is its format, as for `strftime`
/// (`set_formatted_local_time`).
///
/// # Errors
/// Returns an error if the result is longer than 255 bytes.
pub fn local(texts: &[&[u8]], around: &dyn FunctionInputs, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let minutes = around.offset_minutes();
    let name = offset_name(minutes);
    formatted(text(texts, 0), around.now_s(), ZoneOffset { minutes, name: &name }, out)
}

fn formatted(
    format: &[u8],
    now_s: u64,
    offset: ZoneOffset<'_>,
    out: &mut Vec<u8>,
) -> Result<(), FunctionError> {
    // A conversion produces at least a third of its length (`%Eu`), so a longer format is rejected without formatting.
    if format.len() > 3 * LONGEST {
        return Err(FunctionError::new("the time is longer than 255 bytes"));
    }
    let start = out.len();
    write_time(format, now_s, offset, out);
    if out.len() - start > LONGEST {
        return Err(FunctionError::new("the time is longer than 255 bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::function::{Function, shown_in};

    struct FixedTime(u64, i32);

    impl FunctionInputs for FixedTime {
        fn now_s(&self) -> u64 {
            self.0
        }

        fn offset_minutes(&self) -> i32 {
            self.1
        }

        fn random(&self, _: &mut [u8]) -> Result<(), FunctionError> {
            Err(FunctionError::new("none"))
        }
    }

    #[test]
    fn times_are_written_in_the_zone_that_is_asked_for() {
        // 2013-12-13 23:34:37 UTC.
        let around = FixedTime(1_386_977_677, 60);
        let shown = |function: Function, format| shown_in(&function, &[format], &around);
        assert_eq!(shown(Function::of_varying(local_today), ""), "2013-12-14");
        let format = "%a %b %e %H:%M:%S %Y %Z";
        assert_eq!(shown(Function::of_varying(gmt), format), "Fri Dec 13 23:34:37 2013 GMT");
        assert_eq!(shown(Function::of_varying(local), format), "Sat Dec 14 00:34:37 2013 +0100");
        assert_eq!(shown(Function::of_varying(gmt), ""), "");
    }

    #[test]
    fn times_are_bounded() {
        let around = FixedTime(0, 0);
        let shown = |format: &str| shown_in(&Function::of_varying(gmt), &[format], &around);
        assert_eq!(shown(&"%Y".repeat(63)).len(), 252);
        assert_eq!(shown(&"%Y".repeat(64)), "!the time is longer than 255 bytes");
        assert_eq!(shown(&"%Eu".repeat(255)), "4".repeat(255));
        assert_eq!(shown(&"%%".repeat(4000)), "!the time is longer than 255 bytes");
    }
}
