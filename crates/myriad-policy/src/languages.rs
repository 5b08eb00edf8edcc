//! Normalization of `Accept-Language`: the languages that a visitor prefers, in order of preference.
//!
//! RFC 9110 §12.5.4 orders languages by weight, which defaults to 1. Neither the distance between weights nor the order
//! of languages with equal weight is significant ("this behavior cannot be relied upon"). Lists with the same meaning
//! therefore have the same normalized form: `en-GB,en;q=0.9,de;q=0.8` and `EN-gb, en;q=0.5, de;q=0.1, en;q=0.1` are
//! equal, `en, de` and `de, en` are equal, and `en, de;q=0.9` differs from both.

use smallvec::SmallVec;

/// Maximum number of languages in `Accept-Language`; browsers send fewer. Longer lists are not parsed.
const MOST: usize = 16;

/// Weight of a language in thousandths, and its name.
pub(crate) type Language<'a> = (u16, &'a [u8]);

/// Returns the languages of `Accept-Language` fields without duplicates, by descending weight, so that excluded
/// languages (`q=0`) are last; `None` if there are more than 16, including duplicates.
pub(crate) fn ordered<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<SmallVec<[Language<'a>; MOST]>> {
    let mut languages: SmallVec<[Language<'a>; MOST]> = SmallVec::new();
    for member in values.flat_map(|value| value.split(|byte| *byte == b',')) {
        let (name, weight) = match member.iter().position(|byte| *byte == b';') {
            Some(at) => (&member[..at], weight_of(&member[at + 1..])),
            None => (member, 1000),
        };
        let name = name.trim_ascii();
        if name.is_empty() {
            continue;
        }
        if languages.len() == MOST {
            return None;
        }
        languages.push((weight, name));
    }
    languages.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let mut at = 0;
    while at < languages.len() {
        let name = languages[at].1;
        if languages[..at].iter().any(|(_, earlier)| earlier.eq_ignore_ascii_case(name)) {
            languages.remove(at);
        } else {
            at += 1;
        }
    }
    Some(languages)
}

/// Appends the languages as an equivalent `Accept-Language` value in normalized form: equal weights are sorted by name,
/// and each lower weight is replaced by 0.05 less than the previous, starting at 1; a weight of 0 remains 0.
pub(crate) fn write(mut languages: SmallVec<[Language<'_>; MOST]>, out: &mut Vec<u8>) {
    languages.sort_by(|(weight, name), (other_weight, other)| {
        other_weight.cmp(weight).then_with(|| lower(name).cmp(lower(other)))
    });
    let mut twentieths = 20;
    for (number, (weight, name)) in languages.iter().enumerate() {
        if number > 0 {
            out.push(b',');
            twentieths -= u8::from(languages[number - 1].0 != *weight);
        }
        out.extend(lower(name));
        if *weight == 0 {
            out.extend_from_slice(b";q=0");
        } else if twentieths < 20 {
            let hundredths = twentieths * 5;
            out.extend_from_slice(b";q=0.");
            out.extend([b'0' + hundredths / 10, b'0' + hundredths % 10]);
        }
    }
}

/// Returns the language of `offered` that the client prefers most by its `Accept-Language` values (lookup of RFC 4647
/// §3.4): a range such as `en-GB` matches itself, then the ranges that result from cutting it at its hyphens (`en`). A
/// language with `q=0` is not returned, and `*` matches none. Returns `None` if no language matches, or the list is too
/// long.
pub(crate) fn best<'o>(values: impl Iterator<Item = &'o [u8]>, offered: &'o [Box<[u8]>]) -> Option<&'o [u8]> {
    let list = ordered(values)?;
    let refused =
        |name: &[u8]| list.iter().any(|(weight, own)| *weight == 0 && own.eq_ignore_ascii_case(name));
    let wanted = list.iter().filter(|(weight, _)| *weight > 0);
    for (_, range) in wanted {
        let mut range = *range;
        loop {
            let found = offered.iter().find(|name| name.eq_ignore_ascii_case(range) && !refused(name));
            if let Some(found) = found {
                return Some(found);
            }
            let Some(hyphen) = range.iter().rposition(|byte| *byte == b'-') else { break };
            range = &range[..hyphen];
        }
    }
    None
}

fn lower(name: &[u8]) -> impl Iterator<Item = u8> + '_ {
    name.iter().map(u8::to_ascii_lowercase)
}

/// Returns the weight of a language in thousandths, by its first parameter: 1000 if the parameter is not `q=`, or its
/// value does not begin with `0`. A character after the point that is no digit counts as 9.
fn weight_of(parameters: &[u8]) -> u16 {
    let text = parameters.trim_ascii();
    let Some(text) = text.strip_prefix(b"q=").or_else(|| text.strip_prefix(b"Q=")) else { return 1000 };
    let (whole, fraction) = text.split_at(text.len().min(1));
    let thousandths = fraction.iter().skip(1).chain(b"000").take(3);
    let digits = thousandths.fold(0, |sum, digit| sum * 10 + u16::from(digit.wrapping_sub(b'0').min(9)));
    if whole == b"0" { digits } else { 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(value: &str) -> String {
        let mut out = Vec::new();
        write(ordered([value.as_bytes()].into_iter()).expect("few"), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn what_is_spelled_is_spelled_the_same_again() {
        let words = [
            "en", "de-AT", "*", "-", ",", ";", "q=", "Q=", "0", "1", "0.5", ".999", " ", "\t", "\u{e9}", "=",
            "en-",
        ];
        for seed in 0..5_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let value: String =
                (0..random.usize(0..40)).map(|_| words[random.usize(0..words.len())]).collect();
            let Some(languages) = ordered([value.as_bytes()].into_iter()) else { continue };
            let mut once = Vec::new();
            write(languages, &mut once);
            let again = String::from_utf8(once).expect("text");
            assert_eq!(spelled(&again), again, "{seed}: {value:?}");
        }
    }

    #[test]
    fn lists_that_mean_the_same_are_one_and_those_that_differ_are_not() {
        for same in [
            "en-gb,en;q=0.95,de;q=0.90",
            "en-GB, en;q=0.9, de;q=0.8",
            "EN-gb,en;q=0.5,de;q=0.1",
            "de;q=0.1, en;q=0.5, en-GB;q=1.0",
            "en-GB, en;q=0.5, en;q=0.3, de;q=0.4, EN-GB;q=0.1",
            " , en-GB,,en;Q=0.999 ,de;q=0.2 ",
        ] {
            assert_eq!(spelled(same), "en-gb,en;q=0.95,de;q=0.90", "{same}");
        }
        for same in ["en, de", "de, en", "De,eN;q=1", "en;q=0.5, de;q=0.5", "de,en,de;q=0.2"] {
            assert_eq!(spelled(same), "de,en", "{same}: order says nothing");
        }
        assert_eq!(spelled("en, de;q=0.9"), "en,de;q=0.95", "one is wanted more");
        assert_eq!(spelled("de, en;q=0.9"), "de,en;q=0.95");
        assert_eq!(spelled("x;q=0.2, en, a;q=0.2, de;q=0.1"), "en,a;q=0.95,x;q=0.95,de;q=0.90");
        assert_eq!(spelled("fr;q=0, de;q=0, *"), "*,de;q=0,fr;q=0");
        assert_eq!(spelled("en, <x>"), "<x>,en", "what is no language is told apart all the same");
    }

    #[test]
    fn normalized_languages_are_stable_and_bounded() {
        let falling: Vec<_> = (0..MOST).map(|number| format!("l{number:02};q=0.{}", 90 - number)).collect();
        for value in [
            "en",
            "de;q=0.1,en",
            "b,a,d,c",
            "fr;q=0, *;q=0.4",
            "x;q=0",
            "y;q=0.3, x;q=0.3, z",
            &falling.join(","),
        ] {
            assert_eq!(spelled(&spelled(value)), spelled(value), "{value}");
        }
        let many = vec!["en"; MOST + 1].join(",");
        assert!(ordered([many.as_bytes()].into_iter()).is_none());
    }

    #[test]
    fn the_language_that_is_wanted_most_is_chosen() {
        let offered: Vec<Box<[u8]>> = ["en", "de", "pt-BR"].map(|name| name.as_bytes().into()).into();
        let best = |value: &str| {
            let best = super::best([value.as_bytes()].into_iter(), &offered);
            String::from_utf8(best.unwrap_or_default().to_vec()).expect("text")
        };
        assert_eq!(best("de-AT, en;q=0.5"), "de");
        assert_eq!(best("fr, en;q=0.1, de;q=0.2"), "de");
        assert_eq!(best("de, en"), "de", "the first of two that weigh the same");
        assert_eq!(best("PT-br"), "pt-BR");
        assert_eq!(best("pt"), "", "a broader range asks for no narrower language");
        assert_eq!(best("fr, *"), "");
        assert_eq!(best("en;q=0, en-US, de;q=0.1"), "de");
        assert_eq!(best(""), "");
    }
}
