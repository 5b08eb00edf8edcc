//! Random numbers and texts, from unpredictable bytes.

use crate::functions::function::{FunctionError, FunctionInputs, text};
use crate::functions::number::{number, range};

/// Maximum length of a random text of `set_secure_random_*`, in bytes.
const LONGEST: i64 = 64;

/// Appends a random number between two bounds, both inclusive (`set_random`).
///
/// # Errors
/// Returns an error if a bound is not a number, or if the system provides no random bytes.
pub fn between(texts: &[&[u8]], around: &dyn FunctionInputs, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let (from, to) = range(text(texts, 0), text(texts, 1))?;
    let mut bytes = [0; 8];
    around.random(&mut bytes)?;
    // With 64 random bits, the bias of a range of N values is N / 2^64.
    let count = u128::from(to.abs_diff(from)) + 1;
    let at = (u128::from(u64::from_ne_bytes(bytes)) * count) >> 64;
    out.extend_from_slice((i128::from(from) + at.cast_signed()).to_string().as_bytes());
    Ok(())
}

/// Appends random letters and digits; the first text is their number (`set_secure_random_alphanum`).
///
/// # Errors
/// Returns an error if the length is not a number from 1 to 64, or if the system provides no random bytes.
pub fn letters_and_digits(
    texts: &[&[u8]],
    around: &dyn FunctionInputs,
    out: &mut Vec<u8>,
) -> Result<(), FunctionError> {
    random_text(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", texts, around, out)
}

/// Appends random lower-case letters; the first text is their number (`set_secure_random_lcalpha`).
///
/// # Errors
/// Returns an error if the length is not a number from 1 to 64, or if the system provides no random bytes.
pub fn small_letters(
    texts: &[&[u8]],
    around: &dyn FunctionInputs,
    out: &mut Vec<u8>,
) -> Result<(), FunctionError> {
    random_text(b"abcdefghijklmnopqrstuvwxyz", texts, around, out)
}

fn random_text(
    alphabet: &[u8],
    texts: &[&[u8]],
    around: &dyn FunctionInputs,
    out: &mut Vec<u8>,
) -> Result<(), FunctionError> {
    let written = text(texts, 0);
    let length = number(written, "\"length\" argument")?;
    if !(1..=LONGEST).contains(&length) {
        return Err(FunctionError::bad("\"length\" argument", written));
    }
    // Bytes beyond the largest multiple of the alphabet's size are skipped, so that all letters are equally probable.
    let fair = 256 / alphabet.len() * alphabet.len();
    let mut missing = length as usize;
    let mut bytes = [0; LONGEST as usize];
    while missing > 0 {
        around.random(&mut bytes)?;
        let fair_bytes = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
        for byte in fair_bytes.take(missing) {
            out.push(alphabet[byte % alphabet.len()]);
            missing -= 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::functions::function::{ConstantInputs, Function, shown, shown_in};

    struct SeededInputs(RefCell<fastrand::Rng>);

    impl FunctionInputs for SeededInputs {
        fn now_s(&self) -> u64 {
            0
        }

        fn offset_minutes(&self) -> i32 {
            0
        }

        fn random(&self, bytes: &mut [u8]) -> Result<(), FunctionError> {
            self.0.borrow_mut().fill(bytes);
            Ok(())
        }
    }

    fn seeded() -> SeededInputs {
        SeededInputs(RefCell::new(fastrand::Rng::with_seed(9)))
    }

    #[test]
    fn every_number_of_the_range_comes_and_no_other() {
        let around = seeded();
        for bounds in [["5", "7"], ["7", "5"]] {
            let mut seen: Vec<_> =
                (0..200).map(|_| shown_in(&Function::of_varying(between), &bounds, &around)).collect();
            seen.sort();
            seen.dedup();
            assert_eq!(seen, ["5", "6", "7"]);
        }
        assert_eq!(shown_in(&Function::of_varying(between), &["4", "4"], &around), "4");
        let most = i64::MAX.to_string();
        assert!(!shown_in(&Function::of_varying(between), &["0", &most], &around).starts_with('!'));
    }

    #[test]
    fn texts_are_as_long_as_asked_for() {
        let around = seeded();
        let text = shown_in(&Function::of_varying(letters_and_digits), &["64"], &around);
        assert!(text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
        let text = shown_in(&Function::of_varying(small_letters), &["32"], &around);
        assert!(text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_lowercase()), "{text}");
        for wrong in ["0", "65", "", "x", "-1", "99999999999999999999"] {
            let text = shown_in(&Function::of_varying(small_letters), &[wrong], &around);
            assert_eq!(text, format!("!bad \"length\" argument value: \"{wrong}\""));
        }
    }

    #[test]
    fn nothing_is_made_up_where_there_are_no_random_bytes() {
        assert_eq!(shown(&Function::of_varying(small_letters), &["8"]), "!no random bytes are available");
        let wrong = shown_in(&Function::of_varying(between), &["abc", "3"], &ConstantInputs);
        assert_eq!(wrong, "!bad \"from\" argument value: \"abc\"");
    }
}
