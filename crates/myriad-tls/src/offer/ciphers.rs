//! Cipher lists in OpenSSL's syntax (`ssl_ciphers`), reduced to the suites that rustls supports.

use myriad_conf::{Diagnostic, Text};
use rustls::crypto::CryptoProvider;
use rustls::{CipherSuite, SupportedCipherSuite};

/// TLS 1.2 cipher suite with its OpenSSL name and the keywords of OpenSSL's cipher lists that select it.
struct NamedSuite {
    suite: CipherSuite,
    name: &'static str,
    words: &'static [&'static str],
}

const NAMED: [NamedSuite; 6] = [
    NamedSuite {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        name: "ECDHE-ECDSA-AES256-GCM-SHA384",
        words: &["ECDSA", "aECDSA", "AES256", "AES", "AESGCM", "FIPS"],
    },
    NamedSuite {
        suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        name: "ECDHE-RSA-AES256-GCM-SHA384",
        words: &["aRSA", "AES256", "AES", "AESGCM", "FIPS"],
    },
    NamedSuite {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        name: "ECDHE-ECDSA-CHACHA20-POLY1305",
        words: &["ECDSA", "aECDSA", "CHACHA20"],
    },
    NamedSuite {
        suite: CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        name: "ECDHE-RSA-CHACHA20-POLY1305",
        words: &["aRSA", "CHACHA20"],
    },
    NamedSuite {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        name: "ECDHE-ECDSA-AES128-GCM-SHA256",
        words: &["ECDSA", "aECDSA", "AES128", "AES", "AESGCM", "FIPS"],
    },
    NamedSuite {
        suite: CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        name: "ECDHE-RSA-AES128-GCM-SHA256",
        words: &["aRSA", "AES128", "AES", "AESGCM", "FIPS"],
    },
];

/// Keywords of OpenSSL's cipher lists that select all supported suites.
const EVERY: [&str; 9] = ["ALL", "DEFAULT", "HIGH", "ECDHE", "EECDH", "kECDHE", "kEECDH", "TLSv1.2", "ECDH"];

impl NamedSuite {
    /// Returns true if a word of an OpenSSL cipher list selects the suite: all parts of the word, joined by `+`, must
    /// match.
    fn matches_word(&self, word: &str) -> bool {
        word.split('+').all(|part| part == self.name || EVERY.contains(&part) || self.words.contains(&part))
    }
}

/// Returns the TLS 1.2 suites of `all` that an OpenSSL cipher list (`ssl_ciphers`) selects, in the order of the list,
/// followed by all TLS 1.3 suites, which it does not affect. Fails if it selects no suite.
pub(super) fn suites(
    list: &Text,
    all: &[SupportedCipherSuite],
) -> Result<Vec<SupportedCipherSuite>, Box<Diagnostic>> {
    let mut chosen: Vec<&NamedSuite> = Vec::new();
    let mut killed: Vec<&str> = Vec::new();
    let text = list.lossy();
    for word in text.split([':', ' ', ',']).filter(|word| !word.is_empty() && !word.starts_with('@')) {
        let (sign, word) = match word.as_bytes()[0] {
            sign @ (b'!' | b'-' | b'+') => (sign, &word[1..]),
            _ => (b' ', word),
        };
        match sign {
            b'!' | b'-' => {
                chosen.retain(|named| !named.matches_word(word));
                if sign == b'!' {
                    killed.push(word);
                }
            }
            b'+' => chosen.sort_by_key(|named| named.matches_word(word)),
            _ => {
                for named in &NAMED {
                    let known = chosen.iter().any(|chosen| chosen.suite == named.suite);
                    if !known
                        && named.matches_word(word)
                        && !killed.iter().any(|word| named.matches_word(word))
                    {
                        chosen.push(named);
                    }
                }
            }
        }
    }
    let find = |wanted: CipherSuite| all.iter().find(|suite| suite.suite() == wanted).copied();
    let mut suites: Vec<_> = chosen.iter().filter_map(|named| find(named.suite)).collect();
    if suites.is_empty() {
        let error = format!("no cipher of \"{text}\" is supported");
        return Err(Box::new(Diagnostic::error(list.span, error).help(
            "only ciphers with forward secrecy and authenticated encryption are supported: ECDHE with AES-GCM or CHACHA20",
        )));
    }
    suites.extend(all.iter().filter(|suite| suite.tls13().is_some()));
    Ok(suites)
}

/// Returns true if a word of `ssl_ciphers`, without a sign such as `!`, selects any supported suite.
pub(super) fn selects_suite(word: &str) -> bool {
    NAMED.iter().any(|named| named.matches_word(word))
}

/// Moves the suites with AES-128-GCM, which cost the least, to the front. All suites are strong enough.
pub(crate) fn prefer_cheapest(provider: &mut CryptoProvider) {
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

    /// Each expected number is that of the six supported suites that `openssl ciphers -s -tls1_2 WORD` lists.
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
    fn list_of_nothing_that_is_spoken_is_refused() {
        assert!(chosen("AES128-SHA:DES-CBC3-SHA").unwrap_err().contains("is supported"));
        assert!(chosen("HIGH:!ECDHE").is_err());
    }

    #[test]
    fn minus_takes_out_what_may_come_back_and_an_exclamation_mark_what_may_not() {
        let count = |list: &str| chosen(list).map(|suites| suites.len() - 3);
        assert_eq!(count("HIGH:-CHACHA20:CHACHA20"), Ok(6));
        assert_eq!(count("HIGH:!CHACHA20:CHACHA20"), Ok(4));
        let last = chosen("CHACHA20:AES128:+CHACHA20").unwrap();
        assert_eq!(last[2..4].iter().filter(|suite| format!("{suite:?}").contains("CHACHA20")).count(), 2);
        assert_eq!(count("ALL:@STRENGTH:@SECLEVEL=1"), Ok(6));
    }

    #[test]
    fn small_suites_are_offered_first_and_none_is_lost() {
        let mut provider = aws_lc_rs::default_provider();
        let before = provider.cipher_suites.len();
        prefer_cheapest(&mut provider);
        let first: Vec<_> = provider.cipher_suites[..3].iter().map(SupportedCipherSuite::suite).collect();
        assert!(first.iter().all(|suite| format!("{suite:?}").contains("AES_128_GCM")), "{first:?}");
        assert_eq!(provider.cipher_suites.len(), before);
    }
}
