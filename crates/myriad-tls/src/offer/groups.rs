//! OpenSSL's words for groups of key exchange (`ssl_ecdh_curve`), as far as rustls has them.

use myriad_conf::{Diagnostic, Text};
use rustls::NamedGroup;
use rustls::crypto::SupportedKxGroup;

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
}
