//! Conversion of host names with non-ASCII letters to DNS names (RFC 3492, RFC 5891): `bücher.example` becomes
//! `xn--bcher-kva.example`.

/// Number of digits of Punycode. This and the next constants are the parameters of RFC 3492 section 5.
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 128;

/// Converts a host name to its DNS name, in lower case; `None` if a label with non-ASCII letters has invalid
/// characters, or if [`encoded`] overflows because the label is too long.
pub(super) fn ascii_form(name: &str) -> Option<String> {
    let labels: Option<Vec<String>> = name.split('.').map(ascii_label).collect();
    labels.map(|labels| labels.join("."))
}

fn ascii_label(label: &str) -> Option<String> {
    let lower = label.to_lowercase();
    if lower.is_ascii() {
        return Some(lower);
    }
    let is_letter = |letter: char| letter == '-' || letter.is_alphanumeric();
    if !lower.chars().all(is_letter) {
        return None;
    }
    Some(format!("xn--{}", encoded(&lower)?))
}

/// Encodes a label in Punycode; `None` if the arithmetic overflows, as for a very long label.
fn encoded(label: &str) -> Option<String> {
    let letters: Vec<u32> = label.chars().map(u32::from).collect();
    let mut text: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(text.len()).ok()?;
    let (mut handled, mut n, mut delta, mut bias) = (basic, INITIAL_N, 0_u32, INITIAL_BIAS);
    if basic > 0 {
        text.push('-');
    }
    let all = u32::try_from(letters.len()).ok()?;
    while handled < all {
        let next = letters.iter().copied().filter(|letter| *letter >= n).min()?;
        delta = delta.checked_add((next - n).checked_mul(handled + 1)?)?;
        n = next;
        for letter in &letters {
            if *letter < n {
                delta = delta.checked_add(1)?;
            } else if *letter == n {
                push_integer(delta, bias, &mut text);
                bias = adapted(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        n += 1;
    }
    Some(text)
}

/// Appends a number in digits of variable weight (RFC 3492 section 3.3).
fn push_integer(mut number: u32, bias: u32, text: &mut String) {
    let mut k = BASE;
    loop {
        let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
        if number < threshold {
            text.push(digit(number));
            return;
        }
        text.push(digit(threshold + (number - threshold) % (BASE - threshold)));
        number = (number - threshold) / (BASE - threshold);
        k += BASE;
    }
}

/// Computes the bias for the next number (RFC 3492 section 6.1).
fn adapted(delta: u32, handled: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / handled;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

/// Returns the digit of a value below 36: `a` to `z`, then `0` to `9`.
fn digit(value: u32) -> char {
    char::from_digit(if value < 26 { value + 10 } else { value - 26 }, BASE).unwrap_or('a')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_that_dns_has() {
        for (name, form) in [
            ("example.com", "example.com"),
            ("Bücher.example", "xn--bcher-kva.example"),
            ("*.bücher.example", "*.xn--bcher-kva.example"),
            (".münchen.de", ".xn--mnchen-3ya.de"),
            ("straße.de", "xn--strae-oqa.de"),
            ("例え.jp", "xn--r8jz45g.jp"),
            ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
            ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
        ] {
            assert_eq!(ascii_form(name).as_deref(), Some(form), "{name}");
        }
        for bad in ["ü b.de", "ü/.de", "ü@b", "https://ü.de"] {
            assert_eq!(ascii_form(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_text_makes_the_encoder_fail() {
        let long: String = (0..2000).filter_map(|at| char::from_u32(0x10_ffff - at)).collect();
        for text in ["", "ü", "-ü-", &long, "\u{10ffff}a"] {
            let _ = encoded(text);
        }
    }
}
