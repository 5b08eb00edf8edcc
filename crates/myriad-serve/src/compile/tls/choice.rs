//! OpenSSL's words for suites and groups, as far as rustls has them.

use myriad_conf::{Diagnostic, Text};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::{CipherSuite, NamedGroup, SupportedCipherSuite};

/// What a suite of TLS 1.2 is called, and the words of OpenSSL's lists that take it in.
struct Named {
    suite: CipherSuite,
    name: &'static str,
    words: &'static [&'static str],
}

const NAMED: [Named; 6] = [
    Named {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        name: "ECDHE-ECDSA-AES256-GCM-SHA384",
        words: &["ECDSA", "aECDSA", "AES256", "AES", "AESGCM", "FIPS"],
    },
    Named {
        suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        name: "ECDHE-RSA-AES256-GCM-SHA384",
        words: &["aRSA", "AES256", "AES", "AESGCM", "FIPS"],
    },
    Named {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        name: "ECDHE-ECDSA-CHACHA20-POLY1305",
        words: &["ECDSA", "aECDSA", "CHACHA20"],
    },
    Named {
        suite: CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        name: "ECDHE-RSA-CHACHA20-POLY1305",
        words: &["aRSA", "CHACHA20"],
    },
    Named {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        name: "ECDHE-ECDSA-AES128-GCM-SHA256",
        words: &["ECDSA", "aECDSA", "AES128", "AES", "AESGCM", "FIPS"],
    },
    Named {
        suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        name: "ECDHE-RSA-AES128-GCM-SHA256",
        words: &["aRSA", "AES128", "AES", "AESGCM", "FIPS"],
    },
];

/// Words that take in every suite that is there.
const EVERY: [&str; 9] = ["ALL", "DEFAULT", "HIGH", "ECDHE", "EECDH", "kECDHE", "kEECDH", "TLSv1.2", "ECDH"];

impl Named {
    /// Whether a word, of parts joined by `+`, takes the suite in.
    fn is_meant(&self, word: &str) -> bool {
        word.split('+').all(|part| part == self.name || EVERY.contains(&part) || self.words.contains(&part))
    }
}

/// The suites of `ssl_ciphers`, in its order, and behind them those of TLS 1.3, which it does not concern.
pub(super) fn suites(
    list: &Text,
    all: &[SupportedCipherSuite],
) -> Result<Vec<SupportedCipherSuite>, Box<Diagnostic>> {
    let mut chosen: Vec<&Named> = Vec::new();
    let mut killed: Vec<&str> = Vec::new();
    let text = list.lossy();
    for word in text.split([':', ' ', ',']).filter(|word| !word.is_empty() && !word.starts_with('@')) {
        let (sign, word) = match word.as_bytes()[0] {
            sign @ (b'!' | b'-' | b'+') => (sign, &word[1..]),
            _ => (b' ', word),
        };
        match sign {
            b'!' | b'-' => {
                chosen.retain(|named| !named.is_meant(word));
                if sign == b'!' {
                    killed.push(word);
                }
            }
            b'+' => chosen.sort_by_key(|named| named.is_meant(word)),
            _ => {
                for named in &NAMED {
                    let known = chosen.iter().any(|chosen| chosen.suite == named.suite);
                    if !known && named.is_meant(word) && !killed.iter().any(|word| named.is_meant(word)) {
                        chosen.push(named);
                    }
                }
            }
        }
    }
    let find = |wanted: CipherSuite| all.iter().find(|suite| suite.suite() == wanted).copied();
    let mut suites: Vec<_> = chosen.iter().filter_map(|named| find(named.suite)).collect();
    if suites.is_empty() {
        let error = format!("no cipher of \"{text}\" can be used");
        return Err(Box::new(Diagnostic::error(list.span, error).help(
            "only suites with forward secrecy and authenticated encryption are spoken: ECDHE with AES-GCM or CHACHA20",
        )));
    }
    suites.extend(all.iter().filter(|suite| suite.tls13().is_some()));
    Ok(suites)
}

/// What is to be said of the words of `ssl_ciphers` that ask for a suite and take none in: one sentence, the words by their
/// reason. None where there is none.
pub(super) fn unspoken(list: &str) -> Option<String> {
    let asks = |word: &&str| !word.is_empty() && !word.starts_with(['!', '-', '+', '@']);
    let words = list.split([':', ' ', ',']).filter(asks);
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for word in words.filter(|word| !NAMED.iter().any(|named| named.is_meant(word))) {
        let Some(why) = why_unspoken(word) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, words)) => words.push(word),
            None => groups.push((why, vec![word])),
        }
    }
    let count: usize = groups.iter().map(|(_, words)| words.len()).sum();
    let told: Vec<String> = groups.iter().map(|(why, words)| format!("{} ({why})", named(words))).collect();
    match count {
        0 => None,
        1 => Some(format!("a word of \"ssl_ciphers\" names no cipher that is spoken: {}", told.join("; "))),
        _ => Some(format!(
            "{count} words of \"ssl_ciphers\" name no cipher that is spoken: {}",
            told.join("; ")
        )),
    }
}

/// Words that are named for one reason; lists of OpenSSL's are long.
const MOST_NAMED: usize = 4;

fn named(words: &[&str]) -> String {
    match words.len().saturating_sub(MOST_NAMED) {
        0 => words.join(", "),
        more => format!("{} and {more} more", words[..MOST_NAMED].join(", ")),
    }
}

/// The words of OpenSSL for what is not spoken on purpose, in the order in which they are looked for, and why.
const UNSPOKEN: [(&[&str], &str); 4] = [
    (&["NULL", "aNULL", "eNULL", "ADH", "AECDH", "EXP", "EXPORT"], "no protection"),
    (&["RC4", "MD5", "DES", "3DES", "CBC3", "IDEA", "RC2", "SEED"], "broken"),
    (&["CAMELLIA", "ARIA", "ARIAGCM", "AESCCM", "AESCCM8", "CCM", "CCM8", "PSK", "SRP", "GOST"], "not there"),
    (&["DHE", "EDH", "DH", "kDHE", "kEDH", "DSS", "aDSS"], "key exchange other than ECDHE"),
];

/// None for words of strength and for the suites of TLS 1.3, which are spoken whatever this list says.
fn why_unspoken(word: &str) -> Option<&'static str> {
    if ["MEDIUM", "LOW", "COMPLEMENTOFALL", "COMPLEMENTOFDEFAULT"].contains(&word) || word.starts_with("TLS_")
    {
        return None;
    }
    let parts = || word.split(['-', '+']);
    let says = |known: &str| {
        parts().any(|part| {
            part.strip_prefix(known).is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    let is_meant = |(words, _): &&(&[&str], &str)| words.iter().any(|known| says(known));
    let is_mac = |part: &str| matches!(part, "SHA" | "SHA1" | "SHA256" | "SHA384");
    let why = if let Some((_, why)) = UNSPOKEN.iter().find(is_meant) {
        why
    } else if word.split('+').any(|part| matches!(part, "RSA" | "kRSA"))
        || (word.starts_with("AES") && parts().any(|part| part == "GCM"))
    {
        "no forward secrecy"
    } else if parts().any(is_mac) && !parts().any(|part| part == "GCM") {
        "CBC: encryption that is not authenticated"
    } else {
        "no cipher of OpenSSL"
    };
    Some(why)
}

/// Puts the suites whose hash is SHA-256 and whose cipher is AES before the others: all are strong enough, and a
/// handshake hashes some twenty times.
pub(super) fn cheapest_first(provider: &mut CryptoProvider) {
    provider.cipher_suites.sort_by_key(|suite| {
        let is_cheapest = matches!(
            suite.suite(),
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        );
        !is_cheapest
    });
}

/// A setting of OpenSSL's (`ssl_conf_command`), as far as there is the same here.
pub(super) fn command(
    (name, value): &(Text, Text),
    provider: &mut CryptoProvider,
) -> Result<(), Box<Diagnostic>> {
    match name.lossy().to_ascii_lowercase().as_str() {
        "ciphersuites" => {
            let text = value.lossy();
            let words = text.split(':').filter(|word| !word.is_empty());
            let mut chosen: Vec<SupportedCipherSuite> = Vec::new();
            for word in words {
                let named = provider.cipher_suites.iter().find(|suite| {
                    suite.tls13().is_some()
                        && suite
                            .suite()
                            .as_str()
                            .is_some_and(|name| name.replacen("TLS13_", "TLS_", 1) == word)
                });
                chosen.extend(named);
            }
            if chosen.is_empty() {
                let error = format!("no cipher of \"{text}\" can be used");
                return Err(Box::new(Diagnostic::error(value.span, error).help(
                    "known are TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 and TLS_CHACHA20_POLY1305_SHA256",
                )));
            }
            chosen.extend(provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none()));
            provider.cipher_suites = chosen;
        }
        "ciphers" | "cipherstring" => provider.cipher_suites = suites(value, &provider.cipher_suites)?,
        "curves" | "groups" => provider.kx_groups = groups(value, &provider.kx_groups)?,
        other => {
            let error = format!("the setting \"{other}\" of OpenSSL has no like here");
            return Err(Box::new(Diagnostic::error(name.span, error).help(
                "TLS is spoken by rustls: Options, MinProtocol, MaxProtocol, Ciphersuites, Ciphers, Groups and Curves are known",
            )));
        }
    }
    Ok(())
}

/// The groups of `ssl_ecdh_curve`, in its order.
pub(super) fn groups(
    list: &Text,
    all: &[&'static dyn SupportedKxGroup],
) -> Result<Vec<&'static dyn SupportedKxGroup>, Box<Diagnostic>> {
    let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
    let text = list.lossy();
    for word in text.split(':') {
        let group = match word.to_ascii_lowercase().as_str() {
            "x25519" => NamedGroup::X25519,
            "prime256v1" | "secp256r1" | "p-256" => NamedGroup::secp256r1,
            "secp384r1" | "p-384" => NamedGroup::secp384r1,
            "x25519mlkem768" => NamedGroup::X25519MLKEM768,
            // Known to OpenSSL and not to rustls: the others of the list are used.
            "secp521r1" | "p-521" | "x448" | "ffdhe2048" | "ffdhe3072" | "ffdhe4096"
            | "secp256r1mlkem768" | "secp384r1mlkem1024" => continue,
            _ => {
                let error = format!("unknown group \"{word}\" in \"ssl_ecdh_curve\"");
                return Err(Box::new(
                    Diagnostic::error(list.span, error)
                        .help("known are X25519MLKEM768, X25519, prime256v1 and secp384r1"),
                ));
            }
        };
        groups.extend(all.iter().filter(|known| known.name() == group));
    }
    if groups.is_empty() {
        let error = format!("no group of \"{text}\" can be used");
        return Err(Box::new(
            Diagnostic::error(list.span, error).help("use X25519MLKEM768, X25519, prime256v1 or secp384r1"),
        ));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::aws_lc_rs;

    fn chosen(list: &str) -> Result<Vec<CipherSuite>, String> {
        let all = aws_lc_rs::default_provider().cipher_suites;
        suites(&Text::builtin(list), &all)
            .map(|suites| suites.iter().map(SupportedCipherSuite::suite).collect())
            .map_err(|error| error.message)
    }

    #[test]
    fn list_names_suites_and_their_order_and_leaves_tls13_alone() {
        let two = chosen("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:AES128-SHA").unwrap();
        assert_eq!(
            two[..2],
            [
                CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
            ]
        );
        assert_eq!(two.len(), 2 + 3);
        assert_eq!(chosen("HIGH:!aNULL:!MD5").unwrap().len(), 9);
        assert_eq!(chosen("EECDH+AESGCM:!AES256").unwrap().len(), 2 + 3);
        assert_eq!(chosen("EECDH+CHACHA20 EECDH+AES128+aRSA").unwrap().len(), 3 + 3);
    }

    /// Checked against `openssl ciphers -s -tls1_2 WORD`: how many of the six suites it lists.
    #[test]
    fn words_mean_what_they_mean_to_openssl() {
        for (word, expected) in [
            ("ALL", 6),
            ("DEFAULT", 6),
            ("HIGH", 6),
            ("TLSv1.2", 6),
            ("ECDHE", 6),
            ("ECDH", 6),
            ("kEECDH", 6),
            ("FIPS", 4),
            ("AES", 4),
            ("AESGCM", 4),
            ("aRSA", 3),
            ("ECDSA", 3),
            ("aECDSA", 3),
            ("AES128", 2),
            ("AES256", 2),
            ("CHACHA20", 2),
            ("RSA", 0),
            ("SHA1", 0),
            ("SHA256", 0),
            ("SHA384", 0),
            ("AEAD", 0),
            ("MEDIUM", 0),
            ("COMPLEMENTOFDEFAULT", 0),
            ("HIGH:!aNULL:!SHA1:!SHA256:!SHA384", 6),
            ("HIGH:!RSA", 6),
            ("HIGH:!AEAD", 6),
            ("HIGH:!aRSA", 3),
        ] {
            let known = chosen(word).map_or(0, |suites| suites.len() - 3);
            assert_eq!(known, expected, "{word}");
        }
    }

    #[test]
    fn words_that_ask_for_nothing_spoken_are_told_with_their_reason() {
        let said = unspoken(
            "HIGH:ECDHE-RSA-AES128-GCM-SHA256:NOSUCH:RC4-SHA:DES-CBC3-SHA:ECDHE-RSA-AES128-SHA:AES128-GCM-SHA256:kRSA:\
             DHE-RSA-AES256-GCM-SHA384:CAMELLIA128-SHA:TLS_AES_128_GCM_SHA256:MEDIUM:!aNULL:!NOTHING:-RC4:@STRENGTH",
        );
        let expected = "8 words of \"ssl_ciphers\" name no cipher that is spoken: NOSUCH (no cipher of OpenSSL); RC4-SHA, DES-CBC3-SHA (broken); \
            ECDHE-RSA-AES128-SHA (CBC: encryption that is not authenticated); AES128-GCM-SHA256, kRSA (no forward secrecy); \
            DHE-RSA-AES256-GCM-SHA384 (key exchange other than ECDHE); CAMELLIA128-SHA (not there)";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn many_words_of_one_reason_are_counted_and_sound_lists_are_not_mentioned() {
        let said = unspoken("ECDHE:RC4:RC4-SHA:RC4-MD5:DES-CBC3-SHA:DES-CBC-SHA:IDEA-CBC-SHA").unwrap();
        assert!(said.ends_with("RC4, RC4-SHA, RC4-MD5, DES-CBC3-SHA and 2 more (broken)"), "{said}");
        assert_eq!(unspoken("HIGH:!aNULL:!MD5"), None);
    }

    #[test]
    fn list_of_nothing_that_is_spoken_is_refused() {
        assert!(chosen("AES128-SHA:DES-CBC3-SHA").unwrap_err().contains("can be used"));
        assert!(chosen("HIGH:!ECDHE").is_err());
    }

    #[test]
    fn groups_are_taken_in_order_and_unknown_ones_named() {
        let all = aws_lc_rs::default_provider().kx_groups;
        let groups = |list: &str| super::groups(&Text::builtin(list), &all);
        let names: Vec<_> =
            groups("secp521r1:prime256v1:X25519").unwrap().iter().map(|group| group.name()).collect();
        assert_eq!(names, [NamedGroup::secp256r1, NamedGroup::X25519]);
        assert!(groups("brainpool").unwrap_err().message.contains("brainpool"));
        assert!(groups("secp521r1").is_err());
    }
}
