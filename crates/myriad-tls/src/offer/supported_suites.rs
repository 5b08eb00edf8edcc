//! Cipher suites and groups of a server, shared by servers with equal settings.

use std::sync::Arc;

use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Text};
use rustls::SupportedCipherSuite;
use rustls::crypto::CryptoProvider;

use super::ciphers::prefer_cheapest;
use super::provider::{SuiteSettings, provider};

/// Cipher suites and key exchange groups of a server, and the settings from which they were created.
#[derive(Clone)]
pub(crate) struct SupportedSuites {
    /// Provider for rustls, with all configured suites.
    pub(crate) provider: Arc<CryptoProvider>,
    /// Suites of the enabled TLS versions.
    pub(crate) suites: Arc<[SupportedCipherSuite]>,
    settings: Arc<ComparedSettings>,
}

/// Settings that determine the suites and groups, for comparison with those of another server.
#[derive(PartialEq)]
struct ComparedSettings {
    ciphers: Option<Text>,
    curves: Option<Text>,
    commands: Vec<(Text, Text)>,
    tls12: bool,
    tls13: bool,
}

impl ComparedSettings {
    fn of(settings: &TlsSettings) -> Self {
        Self {
            ciphers: settings.ciphers.clone(),
            curves: settings.curves.clone(),
            commands: settings.commands.clone(),
            tls12: settings.tls12,
            tls13: settings.tls13,
        }
    }
}

impl SupportedSuites {
    /// Creates the suites and groups of a server. Fails if no configured suite or group is supported, or an OpenSSL
    /// command has no equivalent.
    pub(crate) fn of(settings: &TlsSettings) -> Result<Self, Box<Diagnostic>> {
        Self::from_settings(ComparedSettings::of(settings))
    }

    /// Creates the suites and groups. `written` contains all settings that influence them.
    fn from_settings(written: ComparedSettings) -> Result<Self, Box<Diagnostic>> {
        let ComparedSettings { ciphers, curves, commands, tls12, tls13 } = &written;
        let mut provider =
            provider(&SuiteSettings { ciphers: ciphers.as_ref(), curves: curves.as_ref(), commands })?;
        if ciphers.is_none() && commands.is_empty() {
            prefer_cheapest(&mut provider);
        }
        let is_enabled = |suite: &&SupportedCipherSuite| match suite {
            SupportedCipherSuite::Tls12(_) => *tls12,
            SupportedCipherSuite::Tls13(_) => *tls13,
        };
        let suites = provider.cipher_suites.iter().filter(is_enabled).copied().collect();
        Ok(Self { provider: Arc::new(provider), suites, settings: Arc::new(written) })
    }

    /// Returns true if `settings` are equal in all directives that influence the suites and groups.
    pub(crate) fn has_settings(&self, settings: &TlsSettings) -> bool {
        *self.settings == ComparedSettings::of(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resume::reload_state::TlsReloadState;
    use crate::testing::TestSite;

    #[test]
    fn servers_that_speak_the_same_share_it() {
        let site = TestSite::of(
            "ssl_certificate c; ssl_certificate_key k; ssl_ciphers HIGH;
             server { listen 443 ssl; } server { listen 444 ssl; }
             server { listen 445 ssl; ssl_protocols TLSv1.2; }
             server { listen 446 ssl; ssl_protocols TLSv1.2; ssl_ecdh_curve X25519; }",
            &[],
        );
        let mut state = TlsReloadState::default();
        let mut spoken =
            |index: usize| state.suites(&site.http().servers[index].settings.tls).expect("sound");
        let [one, same, old, narrow] = [spoken(0), spoken(1), spoken(2), spoken(3)];
        assert!(Arc::ptr_eq(&one.provider, &same.provider) && Arc::ptr_eq(&one.suites, &same.suites));
        assert!(old.suites.len() < one.suites.len());
        assert!(old.suites.iter().all(|suite| suite.tls13().is_none()));
        assert_eq!((old.suites.len(), narrow.provider.kx_groups.len()), (narrow.suites.len(), 1));
    }
}
