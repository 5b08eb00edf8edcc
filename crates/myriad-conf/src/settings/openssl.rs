//! `ssl_conf_command`: OpenSSL commands that correspond to directives. They are applied after the directives, whatever
//! their order in the file.

use super::{OriginTlsSettings, TlsSettings};
use crate::diagnostic::Diagnostic;
use crate::text::Text;

/// Options of `ssl_conf_command Options` without effect: rustls always behaves like this, or does not have the feature.
const WITHOUT_EFFECT: [&str; 21] = [
    "AllowNoDHEKEX",
    "AntiReplay",
    "Bugs",
    "CANames",
    "Compression",
    "DHSingle",
    "ECDHSingle",
    "EmptyFragments",
    "EncryptThenMac",
    "ExtendedMasterSecret",
    "IgnoreUnexpectedEOF",
    "KTLS",
    "KTLSTxZerocopySendfile",
    "MiddleboxCompat",
    "NoRenegotiation",
    "NoResumptionOnRenegotiation",
    "PreferNoDHEKEX",
    "RxCertificateCompression",
    "StrictCertCheck",
    "UnsafeLegacyRenegotiation",
    "UnsafeLegacyServerConnect",
];

type TlsVersion = u8;

/// Settings that `ssl_conf_command Options` changes; `None` if not mentioned.
#[derive(Debug, Default)]
struct OpensslOptions {
    session_ticket: Option<bool>,
    server_preference: Option<bool>,
    prioritize_chacha: bool,
    certificate_compression: Option<bool>,
}

impl OpensslOptions {
    /// Stores the options in a comma-separated list of OpenSSL options. A leading `-` turns an option off. Options in
    /// [`WITHOUT_EFFECT`] are ignored. Returns an error for any other unknown option.
    fn take(&mut self, list: &Text) -> Result<(), Diagnostic> {
        for (word, on) in words(&list.lossy()) {
            match word {
                "SessionTicket" => self.session_ticket = Some(on),
                "ServerPreference" | "CipherServerPreference" => self.server_preference = Some(on),
                "PrioritizeChaCha" => self.prioritize_chacha = on,
                "TxCertificateCompression" => self.certificate_compression = Some(on),
                _ if WITHOUT_EFFECT.contains(&word) => {}
                _ => {
                    let error = format!("unknown option \"{word}\" in \"ssl_conf_command\"");
                    let help = "supported options include SessionTicket, ServerPreference, PrioritizeChaCha and KTLS";
                    return Err(Diagnostic::error(list.span, error).help(help));
                }
            }
        }
        Ok(())
    }
}

/// Splits a comma-separated list of OpenSSL options into words without a leading `-` or `+`, each with false if it has
/// a leading `-`.
fn words(list: &str) -> impl Iterator<Item = (&str, bool)> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| match word.strip_prefix('-') {
        Some(word) => (word, false),
        None => (word.strip_prefix('+').unwrap_or(word), true),
    })
}

/// Parses a protocol version into a number that can be compared: 0 for SSLv3, 3 for TLS 1.2, 4 for TLS 1.3. Returns an
/// error for an unknown version.
fn version(word: &str, value: &Text) -> Result<TlsVersion, Diagnostic> {
    Ok(match word {
        "SSLv3" => 0,
        "TLSv1" => 1,
        "TLSv1.1" => 2,
        "TLSv1.2" => 3,
        "TLSv1.3" => 4,
        _ => {
            let error = format!("unknown version \"{word}\" in \"ssl_conf_command\"");
            return Err(Diagnostic::error(value.span, error).help("use TLSv1.2 or TLSv1.3"));
        }
    })
}

/// Applies an OpenSSL command about protocol versions. Returns false for other commands. Fails for an unknown version,
/// or if no supported version remains.
fn versions(name: &str, value: &Text, (tls12, tls13): (&mut bool, &mut bool)) -> Result<bool, Diagnostic> {
    let text = value.lossy();
    match name {
        "minprotocol" if text != "None" => {
            let least = version(&text, value)?;
            *tls12 &= least <= 3;
        }
        "maxprotocol" if text != "None" => {
            let most = version(&text, value)?;
            (*tls12, *tls13) = (*tls12 && most >= 3, *tls13 && most >= 4);
        }
        "minprotocol" | "maxprotocol" => {}
        "protocol" => {
            for (word, on) in words(&text) {
                let number = if word == "ALL" { None } else { Some(version(word, value)?) };
                *tls12 = if number.is_none_or(|number| number == 3) { on } else { *tls12 };
                *tls13 = if number.is_none_or(|number| number == 4) { on } else { *tls13 };
            }
        }
        _ => return Ok(false),
    }
    if *tls12 || *tls13 {
        return Ok(true);
    }
    let error = format!("\"ssl_conf_command\" leaves no version of TLS enabled: \"{text}\"");
    Err(Diagnostic::error(value.span, error).help("TLSv1.2 and TLSv1.3 are supported"))
}

impl TlsSettings {
    /// Applies the OpenSSL commands that correspond to directives. Other commands (about cipher suites and groups)
    /// remain in `commands`. Fails for an unknown option or version, or if no supported version remains.
    pub(crate) fn apply_openssl_commands(&mut self) -> Result<(), Diagnostic> {
        let mut options = OpensslOptions::default();
        for (name, value) in std::mem::take(&mut self.commands) {
            match name.lossy().to_ascii_lowercase().as_str() {
                "options" => options.take(&value)?,
                // An additional certificate. One with the same kind of key replaces an earlier one.
                "certificate" => self.certificates.push(value),
                "privatekey" => self.keys.push(value),
                other if versions(other, &value, (&mut self.tls12, &mut self.tls13))? => {}
                _ => self.commands.push((name, value)),
            }
        }
        self.session_tickets = options.session_ticket.unwrap_or(self.session_tickets);
        self.prefer_server_ciphers = options.server_preference.or(self.prefer_server_ciphers);
        if options.prioritize_chacha {
            // `PrioritizeChaCha` is meant for clients without AES hardware, which list ChaCha20 first. With the
            // client's order, they get ChaCha20; for other clients any suite is acceptable.
            self.prefer_server_ciphers = Some(false);
        }
        self.certificate_compression =
            options.certificate_compression.unwrap_or(self.certificate_compression);
        Ok(())
    }
}

impl OriginTlsSettings {
    /// Applies the OpenSSL commands about protocol versions and removes them from `commands`, and `Options`, which are
    /// only checked. Other commands (about cipher suites and groups) remain.
    ///
    /// # Errors
    /// Returns an error for an unknown option or version, or if no supported version remains.
    pub fn apply_openssl_commands(&mut self) -> Result<(), Diagnostic> {
        let mut options = OpensslOptions::default();
        for (name, value) in std::mem::take(&mut self.commands) {
            match name.lossy().to_ascii_lowercase().as_str() {
                "options" => options.take(&value)?,
                other if versions(other, &value, (&mut self.tls12, &mut self.tls13))? => {}
                _ => self.commands.push((name, value)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obeyed(commands: &[(&str, &str)]) -> Result<TlsSettings, String> {
        let mut settings = TlsSettings { tls12: true, tls13: true, ..TlsSettings::default() };
        settings.commands =
            commands.iter().map(|(name, value)| (Text::builtin(name), Text::builtin(value))).collect();
        settings.apply_openssl_commands().map(|()| settings).map_err(|error| error.message)
    }

    #[test]
    fn options_win_over_directives() {
        let settings =
            obeyed(&[("Options", "SessionTicket, -ServerPreference"), ("options", "KTLS")]).unwrap();
        assert!(settings.session_tickets);
        assert_eq!((settings.prefer_server_ciphers, settings.commands.len()), (Some(false), 0));
        let chacha = obeyed(&[("Options", "PrioritizeChaCha,ServerPreference")]).unwrap();
        assert_eq!(chacha.prefer_server_ciphers, Some(false));
        assert_eq!(obeyed(&[("Options", "-PrioritizeChaCha")]).unwrap().prefer_server_ciphers, None);
        assert!(obeyed(&[("Options", "+TxCertificateCompression")]).unwrap().certificate_compression);
        assert!(obeyed(&[("Options", "Magic")]).unwrap_err().contains("\"Magic\""));
    }

    #[test]
    fn versions_are_narrowed_and_one_stays() {
        let spoken =
            |commands: &[(&str, &str)]| obeyed(commands).map(|settings| (settings.tls12, settings.tls13));
        assert_eq!(spoken(&[("MinProtocol", "TLSv1.3")]), Ok((false, true)));
        assert_eq!(spoken(&[("MinProtocol", "TLSv1"), ("MaxProtocol", "None")]), Ok((true, true)));
        assert_eq!(spoken(&[("MaxProtocol", "TLSv1.2")]), Ok((true, false)));
        assert_eq!(spoken(&[("Protocol", "ALL, -TLSv1.2")]), Ok((false, true)));
        assert!(spoken(&[("MaxProtocol", "TLSv1.1")]).unwrap_err().contains("no version"));
        assert!(spoken(&[("MinProtocol", "1.2")]).unwrap_err().contains("unknown version"));
    }

    #[test]
    fn certificates_are_added_and_what_concerns_suites_is_left() {
        let settings =
            obeyed(&[("Certificate", "a.crt"), ("PrivateKey", "a.key"), ("Ciphersuites", "x")]).unwrap();
        assert_eq!((settings.certificates.len(), settings.keys.len(), settings.commands.len()), (1, 1, 1));
    }
}
