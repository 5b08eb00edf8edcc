//! What works and is hardly meant: certificates out of their time, words of `ssl_ciphers` that name nothing, `https_only`
//! that leads nowhere.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_conf::model::{HttpConf, ServerConf};
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Model, Text};
use myriad_http::date::format_http_date;
use myriad_x509::Certificate;

use super::files::Files;
use super::{TlsFiles, choice, is_tls_file, stapling};
use crate::tls::certificates;

/// Warnings about the TLS of a model that was found sound, each once, though many servers inherit what it is about.
///
/// `folder` is that of the main configuration file, `read` what [`super::tls_files`] asks for.
pub fn tls_warnings(model: &Model, folder: &Path, read: &TlsFiles) -> Vec<Diagnostic> {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
    let files = Files { read, folder };
    let mut warnings: Vec<Diagnostic> = Vec::new();
    if let Some(http) = &model.http {
        for server in &http.servers {
            let tls = &server.settings.tls;
            let found = out_of_time(tls, files, now_s).chain(unspoken(tls));
            let found = found.chain(leads_nowhere(http, server)).chain(not_stapled(tls, files));
            for warning in found {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
    }
    warnings
}

/// Certificates that clients refuse for their dates.
fn out_of_time(tls: &TlsSettings, files: Files<'_>, now_s: i64) -> impl Iterator<Item = Diagnostic> {
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
        Some(Diagnostic::warning(name.span, format!("the certificate \"{}\" {why}", name.lossy())))
    })
}

fn date(at_s: i64) -> String {
    String::from_utf8_lossy(&format_http_date(u64::try_from(at_s).unwrap_or(0))).into_owned()
}

/// Certificates for which nobody is asked though `ssl_stapling` is on.
fn not_stapled(tls: &TlsSettings, files: Files<'_>) -> impl Iterator<Item = Diagnostic> {
    let asks = tls.stapling && tls.stapling_file.is_none();
    tls.certificates.iter().filter(move |_| asks).filter_map(move |name| {
        let why = stapling::question(tls, files, name)?.err()?;
        Some(Diagnostic::warning(name.span, why))
    })
}

/// Words of `ssl_ciphers` that take nothing in.
fn unspoken(tls: &TlsSettings) -> impl Iterator<Item = Diagnostic> {
    let list: Option<&Text> = tls.ciphers.as_ref().filter(|_| !tls.certificates.is_empty());
    list.into_iter().filter_map(|list| {
        let message = choice::unspoken(&list.lossy())?;
        let help = "leave them out, or leave the whole line out for the usual ones; docs/https.md (Ciphers) says which are spoken";
        Some(Diagnostic::warning(list.span, message).help(help))
    })
}

/// `https_only on` where nothing shows that somebody speaks https: no listener, no `port=`, no proxy that is trusted.
fn leads_nowhere(http: &HttpConf, server: &ServerConf) -> Option<Diagnostic> {
    let rules = server.settings.https_only.as_ref()?;
    let speaks =
        http.servers.iter().flat_map(|server| &server.listens).any(|listen| listen.ssl || listen.quic);
    if speaks || rules.port.is_some() || !server.settings.real_ip.from.is_empty() {
        return None;
    }
    let message = "\"https_only\" leads visitors of this server to https, and no \"listen\" says \"ssl\"";
    Some(
        Diagnostic::warning(rules.span, message)
            .help("write listen 443 ssl; or, where a proxy ends TLS, set_real_ip_from for its address"),
    )
}
