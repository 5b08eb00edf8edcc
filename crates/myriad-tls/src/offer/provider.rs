//! Cryptographic provider of rustls with the configured cipher suites and groups.

use myriad_conf::{Diagnostic, Text};
use rustls::SupportedCipherSuite;
use rustls::crypto::{CryptoProvider, aws_lc_rs};

use super::ciphers::suites;
use super::groups::groups;

/// Directives that select cipher suites and groups: `*_ciphers`, `*_ecdh_curve` and `*_conf_command`.
pub(crate) struct SuiteSettings<'a> {
    pub(crate) ciphers: Option<&'a Text>,
    pub(crate) curves: Option<&'a Text>,
    pub(crate) commands: &'a [(Text, Text)],
}

/// Returns the rustls provider with the configured cipher suites and key exchange groups in their order. Fails if a
/// list contains no supported suite or group, or an OpenSSL command has no equivalent.
pub(crate) fn provider(offer: &SuiteSettings<'_>) -> Result<CryptoProvider, Box<Diagnostic>> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(ciphers) = offer.ciphers {
        provider.cipher_suites = suites(ciphers, &provider.cipher_suites)?;
    }
    if let Some(curves) = offer.curves {
        provider.kx_groups = groups(curves, &provider.kx_groups)?;
    }
    for written in offer.commands {
        apply_command(written, &mut provider)?;
    }
    Ok(provider)
}

/// Applies an OpenSSL command (`*_conf_command`) that selects cipher suites or groups to the provider. Fails if rustls
/// has no equivalent, or supports none of the values.
fn apply_command((name, value): &(Text, Text), provider: &mut CryptoProvider) -> Result<(), Box<Diagnostic>> {
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
                let error = format!("no cipher of \"{text}\" is supported");
                return Err(Box::new(Diagnostic::error(value.span, error).help(
                    "supported ciphers: TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 and TLS_CHACHA20_POLY1305_SHA256",
                )));
            }
            chosen.extend(provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none()));
            provider.cipher_suites = chosen;
        }
        "ciphers" | "cipherstring" => provider.cipher_suites = suites(value, &provider.cipher_suites)?,
        "curves" | "groups" => provider.kx_groups = groups(value, &provider.kx_groups)?,
        other => {
            let error = format!("the OpenSSL setting \"{other}\" is not supported");
            return Err(Box::new(Diagnostic::error(name.span, error).help(
                "Myriad uses rustls; supported settings: Options, Protocol, MinProtocol, MaxProtocol, Ciphersuites, Ciphers, Groups, Curves, and for servers Certificate and PrivateKey",
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::CipherSuite;

    fn with(commands: &[(&str, &str)]) -> Result<CryptoProvider, Box<Diagnostic>> {
        let commands: Vec<_> =
            commands.iter().map(|(name, value)| (Text::builtin(name), Text::builtin(value))).collect();
        provider(&SuiteSettings { ciphers: None, curves: None, commands: &commands })
    }

    #[test]
    fn nothing_written_offers_what_rustls_does() {
        let (own, usual) = (with(&[]).unwrap(), aws_lc_rs::default_provider());
        let names = |provider: &CryptoProvider| -> Vec<_> {
            provider.cipher_suites.iter().map(SupportedCipherSuite::suite).collect()
        };
        assert_eq!(names(&own), names(&usual));
        assert_eq!(own.kx_groups.len(), usual.kx_groups.len());
    }

    #[test]
    fn ciphers_and_curves_of_the_configuration_are_what_is_offered() {
        let (ciphers, curves) = (Text::builtin("CHACHA20"), Text::builtin("X25519"));
        let offer = SuiteSettings { ciphers: Some(&ciphers), curves: Some(&curves), commands: &[] };
        let provider = provider(&offer).unwrap();
        assert_eq!((provider.cipher_suites.len(), provider.kx_groups.len()), (2 + 3, 1));
    }

    #[test]
    fn commands_name_suites_and_groups_as_openssl_does() {
        let provider =
            with(&[("Ciphersuites", "TLS_CHACHA20_POLY1305_SHA256:UNHEARD_OF"), ("groups", "P-384")])
                .unwrap();
        assert_eq!(provider.cipher_suites[0].suite(), CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
        assert_eq!(provider.cipher_suites.iter().filter(|suite| suite.tls13().is_some()).count(), 1);
        assert_eq!(provider.kx_groups.len(), 1);
        let provider = with(&[("CipherString", "ECDHE+AESGCM")]).unwrap();
        assert_eq!(provider.cipher_suites.len(), 4 + 3);
    }

    #[test]
    fn commands_that_have_no_like_are_refused_at_their_place() {
        let error = with(&[("RecordPadding", "512")]).unwrap_err();
        assert_eq!(error.message, "the OpenSSL setting \"recordpadding\" is not supported");
        assert!(with(&[("Ciphersuites", "NONE")]).unwrap_err().message.contains("is supported"));
    }
}
