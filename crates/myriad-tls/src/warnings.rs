//! Warnings about valid settings that are probably mistakes: certificates that have expired or are not valid yet,
//! unsupported words in `ssl_ciphers` and `ssl_ecdh_curve`, and `ssl_stapling` without effect.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::x509::Certificate;
use myriad_base::calendar::format_http_date;
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Model, Text};

use crate::certificates::certified_key::certificates;
use crate::certificates::files::{TlsFileReader, TlsFiles, display_name, is_tls_file};
use crate::offer;
use crate::stapling::question;

/// Returns the warnings about the TLS directives of a valid configuration, without duplicates.
///
/// `folder` is the folder of the main configuration file; `read` contains the contents of the files that
/// [`crate::tls_files`] lists.
pub fn tls_warnings(model: &Model, folder: &Path, read: &TlsFiles) -> Vec<Diagnostic> {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
    let files = TlsFileReader { read, folder };
    let mut warnings: Vec<Diagnostic> = Vec::new();
    for server in model.servers() {
        let tls = &server.settings.tls;
        let found = expired_certificates(tls, files, now_s)
            .chain(ineffective_ciphers(tls))
            .chain(unknown_groups(tls));
        for warning in found.chain(not_stapled(tls, files)) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// Returns a warning for each certificate file whose first certificate has expired or is not valid yet at `now_s`
/// (seconds since the Unix epoch). Files that cannot be read or parsed are skipped.
fn expired_certificates(
    tls: &TlsSettings,
    files: TlsFileReader<'_>,
    now_s: i64,
) -> impl Iterator<Item = Diagnostic> {
    tls.certificates.iter().filter(|name| is_tls_file(name)).filter_map(move |name| {
        let chain = certificates(&files.bytes(name).ok()?).ok()?;
        let certificate = Certificate::parse(chain.first()?).ok()?;
        let why = if now_s > certificate.not_after {
            format!("expired on {}", date(certificate.not_after))
        } else if now_s < certificate.not_before {
            format!("is not valid before {}", date(certificate.not_before))
        } else {
            return None;
        };
        Some(Diagnostic::warning(
            name.span,
            format!("the certificate \"{}\" {why}", display_name(name.bytes())),
        ))
    })
}

fn date(at_s: i64) -> String {
    String::from_utf8_lossy(&format_http_date(u64::try_from(at_s).unwrap_or(0))).into_owned()
}

/// Returns a warning for each certificate for which `ssl_stapling on` has no effect. There are none with
/// `ssl_stapling_file`, and none for certificates that cannot be read or parsed.
fn not_stapled(tls: &TlsSettings, files: TlsFileReader<'_>) -> impl Iterator<Item = Diagnostic> {
    let requires_stapling = tls.stapling && tls.stapling_file.is_none();
    tls.certificates.iter().filter(move |_| requires_stapling).filter_map(move |name| {
        let why = question(tls, files, name)?.err()?;
        Some(Diagnostic::warning(name.span, why))
    })
}

/// Returns a warning about words of `ssl_ciphers` that select no supported suite; none if there are no such words, or
/// the server has no certificate. Keywords of strength, such as `MEDIUM`, and names of TLS 1.3 suites cause no warning.
fn ineffective_ciphers(tls: &TlsSettings) -> impl Iterator<Item = Diagnostic> {
    let list: Option<&Text> = tls.ciphers.as_ref().filter(|_| !tls.certificates.is_empty());
    list.into_iter().filter_map(|list| {
        let message = offer::unsupported_suites::ineffective_words_warning(&list.lossy())?;
        let help = "remove these words, or remove the directive to use the default ciphers; docs/https.md (Ciphers) lists the \
             supported ciphers";
        Some(Diagnostic::warning(list.span, message).help(help))
    })
}

/// Returns a warning about unknown group names in `ssl_ecdh_curve`; none if all are known, or the server has no
/// certificate.
fn unknown_groups(tls: &TlsSettings) -> impl Iterator<Item = Diagnostic> {
    let list: Option<&Text> = tls.curves.as_ref().filter(|_| !tls.certificates.is_empty());
    list.into_iter().filter_map(|list| {
        let message = format!(
            "{} in \"ssl_ecdh_curve\" is not supported and ignored",
            offer::groups::unknown_group_names(&list.lossy())?
        );
        let help = "supported groups: X25519MLKEM768, X25519, prime256v1 and secp384r1";
        Some(Diagnostic::warning(list.span, message).help(help))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FOLDER, TestCertificate, TestSite, now_s};
    use myriad_conf::model::AcmeKeyKind;

    fn warnings(site: &TestSite) -> Vec<String> {
        let warnings = tls_warnings(&site.model, Path::new(FOLDER), &site.read);
        warnings.into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn sound_servers_are_not_mentioned() {
        assert!(warnings(&TestSite::server("ssl_ciphers HIGH:!aNULL;", &[])).is_empty());
        assert!(warnings(&TestSite::of("server { listen 80; }", &[])).is_empty());
    }

    #[test]
    fn expired_certificate_is_reported_once_when_two_servers_use_it() {
        let [old, young] = [0, now_s() + 30 * 86_400]
            .map(|at_s| TestCertificate::at(AcmeKeyKind::P256, "a.test", at_s).certificate);
        let site = TestSite::of(
            "ssl_certificate_key k; ssl_certificate old; server { listen 443 ssl; } server { listen 444 ssl; }
             server { listen 445 ssl; ssl_certificate young; }",
            &[("old", &old), ("young", &young)],
        );
        let messages = warnings(&site);
        assert!(
            messages.contains(&"the certificate \"old\" expired on Fri, 02 Jan 1970 00:00:00 GMT".to_owned()),
            "{messages:?}"
        );
        assert!(
            messages.iter().any(|told| told.starts_with("the certificate \"young\" is not valid before ")),
            "{messages:?}"
        );
        assert_eq!(messages.len(), 2, "{messages:?}");
    }

    #[test]
    fn unknown_cipher_words_are_reported_only_for_tls_servers() {
        let messages_of = |http: &str| warnings(&TestSite::of(http, &[]));
        let words = "ssl_ciphers HIGH:RC4;";
        let server = "server { listen 443 ssl; ssl_certificate c; ssl_certificate_key k; }";
        assert!(messages_of(&format!("{words} {server}"))[0].contains("RC4 (broken)"));
        assert!(messages_of(&format!("{words} server {{ listen 80; }}")).is_empty());
    }

    #[test]
    fn unknown_groups_are_reported_and_other_groups_used() {
        let site = TestSite::server("ssl_ecdh_curve sect571r1:X25519;", &[]);
        assert_eq!(warnings(&site), ["\"sect571r1\" in \"ssl_ecdh_curve\" is not supported and ignored"]);
    }

    #[test]
    fn stapling_without_responder_is_reported() {
        let messages = warnings(&TestSite::server("ssl_stapling on;", &[]));
        assert!(messages.len() == 1 && messages[0].contains("no issuer certificate"), "{messages:?}");
        let made = TestCertificate::usual();
        let answered = TestSite::server("ssl_stapling on; ssl_stapling_file f;", &[("f", &made.certificate)]);
        assert!(self::warnings(&answered).is_empty());
    }
}
