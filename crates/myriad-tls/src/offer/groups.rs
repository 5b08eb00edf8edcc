//! Key exchange groups by their OpenSSL names (`ssl_ecdh_curve`).

use myriad_conf::{Diagnostic, Text};
use rustls::NamedGroup;
use rustls::crypto::SupportedKxGroup;

/// Key exchange groups that OpenSSL supports and Myriad does not, in lower case. They are ignored without a warning.
const OPENSSL_ONLY: [&str; 8] = [
    "secp521r1",
    "p-521",
    "x448",
    "ffdhe2048",
    "ffdhe3072",
    "ffdhe4096",
    "secp256r1mlkem768",
    "secp384r1mlkem1024",
];

/// Returns the key exchange group with an OpenSSL or NIST name, ignoring case; `None` if it is not supported.
fn group(word: &str) -> Option<NamedGroup> {
    match word.to_ascii_lowercase().as_str() {
        "x25519" => Some(NamedGroup::X25519),
        "prime256v1" | "secp256r1" | "p-256" => Some(NamedGroup::secp256r1),
        "secp384r1" | "p-384" => Some(NamedGroup::secp384r1),
        "x25519mlkem768" => Some(NamedGroup::X25519MLKEM768),
        _ => None,
    }
}

/// Returns those of `all` that `ssl_ecdh_curve` lists, in the order of the list. Unsupported groups are omitted.
///
/// # Errors
///
/// No group of the list is supported.
pub(super) fn groups(
    list: &Text,
    all: &[&'static dyn SupportedKxGroup],
) -> Result<Vec<&'static dyn SupportedKxGroup>, Box<Diagnostic>> {
    let text = list.lossy();
    let named = text.split(':').filter_map(group);
    let groups: Vec<_> =
        named.filter_map(|group| all.iter().copied().find(|known| known.name() == group)).collect();
    if groups.is_empty() {
        let error = format!("no group of \"{text}\" is supported");
        return Err(Box::new(
            Diagnostic::error(list.span, error).help("use X25519MLKEM768, X25519, prime256v1 or secp384r1"),
        ));
    }
    Ok(groups)
}

/// Returns the unknown names in an `ssl_ecdh_curve` list (misspelled or obsolete, such as `sect571r1`), quoted and
/// separated by commas, for a warning; `None` if there are none.
pub(crate) fn unknown_group_names(list: &str) -> Option<String> {
    let is_known = |word: &str| {
        group(word).is_some() || OPENSSL_ONLY.contains(&word.to_ascii_lowercase().as_str()) || word == "auto"
    };
    let words: Vec<_> =
        list.split(':').filter(|word| !is_known(word)).map(|word| format!("\"{word}\"")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::aws_lc_rs;

    #[test]
    fn groups_are_taken_in_order_and_unknown_ones_named() {
        let all = aws_lc_rs::default_provider().kx_groups;
        let groups = |list: &str| super::groups(&Text::builtin(list), &all);
        let names: Vec<_> =
            groups("secp521r1:prime256v1:X25519").unwrap().iter().map(|group| group.name()).collect();
        assert_eq!(names, [NamedGroup::secp256r1, NamedGroup::X25519]);
        assert_eq!(groups("sect571r1:X25519").unwrap().len(), 1);
        assert!(groups("brainpool").unwrap_err().message.contains("brainpool"));
        assert!(groups("secp521r1").is_err());
    }

    #[test]
    fn a_group_has_the_names_of_two_standards_in_any_case() {
        let all = aws_lc_rs::default_provider().kx_groups;
        for (names, group) in [
            (&["prime256v1", "secp256r1", "P-256"][..], NamedGroup::secp256r1),
            (&["secp384r1", "p-384"], NamedGroup::secp384r1),
            (&["X25519", "x25519"], NamedGroup::X25519),
            (&["X25519MLKEM768"], NamedGroup::X25519MLKEM768),
        ] {
            for name in names {
                let groups = groups(&Text::builtin(name), &all).unwrap();
                assert_eq!(groups.iter().map(|group| group.name()).collect::<Vec<_>>(), [group], "{name}");
            }
        }
    }

    #[test]
    fn unsupported_and_misspelled_groups_are_reported() {
        assert_eq!(
            unknown_group_names("X25519:sect571r1:prime256v1:P256").as_deref(),
            Some("\"sect571r1\", \"P256\"")
        );
        assert_eq!(unknown_group_names("auto:secp521r1:X25519"), None);
    }
}
