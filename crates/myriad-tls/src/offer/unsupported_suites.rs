//! Warning about words of `ssl_ciphers` that select no supported suite.

use super::ciphers::selects_suite;

/// Returns a warning about the words of `ssl_ciphers` that select no supported suite, grouped by reason; `None` if
/// there are none. Words that remove or move suites, and words without a reason ([`ineffective_reason`]), are not
/// mentioned.
pub(crate) fn ineffective_words_warning(list: &str) -> Option<String> {
    let is_selection = |word: &&str| !word.is_empty() && !word.starts_with(['!', '-', '+', '@']);
    let words = list.split([':', ' ', ',']).filter(is_selection);
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in words.filter(|word| !selects_suite(word)) {
        let Some(why) = ineffective_reason(word) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, words)) => words.push(word),
            None => groups.push((why, vec![word])),
        }
    }
    let count: usize = groups.iter().map(|(_, words)| words.len()).sum();
    let group_texts: Vec<String> =
        groups.iter().map(|(why, words)| format!("{} ({why})", list_words(words))).collect();
    match count {
        0 => None,
        1 => {
            Some(format!("a word of \"ssl_ciphers\" selects no supported cipher: {}", group_texts.join("; ")))
        }
        _ => Some(format!(
            "{count} words of \"ssl_ciphers\" select no supported cipher: {}",
            group_texts.join("; ")
        )),
    }
}

/// Maximum number of words of `ssl_ciphers` listed per reason in the warning; further words are only counted.
const MOST_NAMED: usize = 4;

fn list_words(words: &[&str]) -> String {
    match words.len().saturating_sub(MOST_NAMED) {
        0 => words.join(", "),
        more => format!("{} and {more} more", words[..MOST_NAMED].join(", ")),
    }
}

/// Keywords of OpenSSL's cipher lists for deliberately unsupported features, with the reason. The first match applies.
const UNSUPPORTED: [(&[&str], &str); 4] = [
    (&["NULL", "aNULL", "eNULL", "ADH", "AECDH", "EXP", "EXPORT"], "no protection"),
    (&["RC4", "MD5", "DES", "3DES", "CBC3", "IDEA", "RC2", "SEED"], "broken"),
    (
        &["CAMELLIA", "ARIA", "ARIAGCM", "AESCCM", "AESCCM8", "CCM", "CCM8", "PSK", "SRP", "GOST"],
        "not supported",
    ),
    (&["DHE", "EDH", "DH", "kDHE", "kEDH", "DSS", "aDSS"], "key exchange other than ECDHE"),
];

/// Returns the reason why a word of `ssl_ciphers` selects no suite; `None` for words that need no warning: keywords of
/// strength, and TLS 1.3 suites, which `ssl_ciphers` does not affect.
fn ineffective_reason(word: &str) -> Option<&'static str> {
    if ["MEDIUM", "LOW", "COMPLEMENTOFALL", "COMPLEMENTOFDEFAULT"].contains(&word) || word.starts_with("TLS_")
    {
        return None;
    }
    let parts = || word.split(['-', '+']);
    let has_part = |known: &str| {
        parts().any(|part| {
            part.strip_prefix(known).is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    let is_meant = |(words, _): &&(&[&str], &str)| words.iter().any(|known| has_part(known));
    let is_mac = |part: &str| matches!(part, "SHA" | "SHA1" | "SHA256" | "SHA384");
    let why = if let Some((_, why)) = UNSUPPORTED.iter().find(is_meant) {
        why
    } else if word.split('+').any(|part| matches!(part, "RSA" | "kRSA"))
        || (word.starts_with("AES") && parts().any(|part| part == "GCM"))
    {
        "no forward secrecy"
    } else if parts().any(is_mac) && !parts().any(|part| part == "GCM") {
        "CBC: encryption without authentication"
    } else {
        "not an OpenSSL cipher"
    };
    Some(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cipher_words_without_effect_are_reported_with_reason() {
        let warning = ineffective_words_warning(
            "HIGH:ECDHE-RSA-AES128-GCM-SHA256:NOSUCH:RC4-SHA:DES-CBC3-SHA:ECDHE-RSA-AES128-SHA:AES128-GCM-SHA256:kRSA:\
             DHE-RSA-AES256-GCM-SHA384:CAMELLIA128-SHA:TLS_AES_128_GCM_SHA256:MEDIUM:!aNULL:!NOTHING:-RC4:@STRENGTH",
        );
        let expected = "8 words of \"ssl_ciphers\" select no supported cipher: NOSUCH (not an OpenSSL cipher); RC4-SHA, DES-CBC3-SHA (broken); \
            ECDHE-RSA-AES128-SHA (CBC: encryption without authentication); AES128-GCM-SHA256, kRSA (no forward secrecy); \
            DHE-RSA-AES256-GCM-SHA384 (key exchange other than ECDHE); CAMELLIA128-SHA (not supported)";
        assert_eq!(warning.as_deref(), Some(expected));
    }

    #[test]
    fn many_words_of_one_reason_are_counted_and_sound_lists_are_not_mentioned() {
        let warning =
            ineffective_words_warning("ECDHE:RC4:RC4-SHA:RC4-MD5:DES-CBC3-SHA:DES-CBC-SHA:IDEA-CBC-SHA")
                .unwrap();
        assert!(warning.ends_with("RC4, RC4-SHA, RC4-MD5, DES-CBC3-SHA and 2 more (broken)"), "{warning}");
        assert_eq!(ineffective_words_warning("HIGH:!aNULL:!MD5"), None);
    }

    #[test]
    fn single_cipher_word_without_effect_is_reported_in_singular() {
        let warning = ineffective_words_warning("HIGH:PSK").unwrap();
        assert_eq!(warning, "a word of \"ssl_ciphers\" selects no supported cipher: PSK (not supported)");
    }

    #[test]
    fn each_word_has_the_reason_of_its_weakest_part() {
        for (word, why) in [
            ("aNULL", Some("no protection")),
            ("ECDHE-RSA-NULL-SHA", Some("no protection")),
            ("DHE-RSA-DES-CBC3-SHA", Some("broken")),
            ("RC4", Some("broken")),
            ("AES128-CCM8", Some("not supported")),
            ("kEDH", Some("key exchange other than ECDHE")),
            ("AES256-GCM-SHA384", Some("no forward secrecy")),
            ("RSA+AESGCM", Some("no forward secrecy")),
            ("ECDHE-ECDSA-AES256-SHA384", Some("CBC: encryption without authentication")),
            ("BLOWFISH", Some("not an OpenSSL cipher")),
            ("LOW", None),
            ("TLS_AES_256_GCM_SHA384", None),
        ] {
            assert_eq!(ineffective_reason(word), why, "{word}");
        }
    }
}
