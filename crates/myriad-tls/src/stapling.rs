//! OCSP stapling in the configuration (`ssl_stapling`): selection of the certificates that get an OCSP response, and of
//! their responders.

use std::sync::Arc;

use crate::acme_client::https::is_plain_url;
use crate::acme_client::{OcspStaple, StapleRequest};
use crate::x509::Certificate;
use myriad_conf::Text;
use myriad_conf::settings::TlsSettings;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;

use crate::certificates::certified_key::certificates;
use crate::certificates::files::{TlsFileReader, display_name};
use crate::resume::reload_state::TlsReloadState;
use crate::server::identities::{have_variable_names, is_ordered};

/// Returns one entry for each certificate of a server, in order: the OCSP response to staple, which
/// [`crate::acme_client::StapleUpdater`] fills in later; `None` for a certificate that cannot be stapled. Responses
/// that an earlier configuration has stored in `kept` are reused. The list is empty if stapling is off or uses
/// `ssl_stapling_file`. Errors in the files are reported by [`crate::server_config`], and certificates that cannot be
/// stapled by [`crate::tls_warnings`].
pub fn staples(
    settings: &TlsSettings,
    files: TlsFileReader<'_>,
    kept: &mut TlsReloadState,
) -> Vec<Option<Arc<OcspStaple>>> {
    if !settings.stapling || settings.stapling_file.is_some() {
        return Vec::new();
    }
    let questions =
        settings.certificates.iter().map(|name| question(settings, files, name).and_then(Result::ok));
    questions.map(|question| question.map(|question| kept.staple(question))).collect()
}

/// Returns the data for OCSP queries about the certificate with this name: certificate, issuer and responder URL. The
/// error is a warning with the reason why the certificate cannot be stapled. `None` if the certificate cannot be read
/// or parsed.
pub(crate) fn question(
    settings: &TlsSettings,
    files: TlsFileReader<'_>,
    name: &Text,
) -> Option<Result<StapleRequest, String>> {
    let shown = display_name(name.bytes());
    let ignored =
        |why: &str| Some(Err(format!("\"ssl_stapling\" ignored, {why} the certificate \"{shown}\"")));
    if is_ordered(name) {
        return ignored("stapling is not supported for certificates that are ordered by ACME, such as");
    }
    if have_variable_names(settings) {
        return ignored("stapling is not supported for certificates that are named by variables, such as");
    }
    let chain = certificates(&files.bytes(name).ok()?).ok()?;
    let leaf = Certificate::parse(chain.first()?).ok()?;
    let trusted = settings.trusted_certificate.as_ref();
    let trusted = trusted.and_then(|name| certificates(&files.bytes(name).ok()?).ok()).unwrap_or_default();
    let algorithms = default_provider().signature_verification_algorithms;
    let has_issued = |der: &&CertificateDer<'_>| {
        Certificate::parse(der).is_ok_and(|issuer| issuer.has_issued(&leaf, algorithms.all))
    };
    let Some(issuer) = chain[1..].iter().chain(&trusted).find(has_issued) else {
        return ignored("no issuer certificate was found in ssl_certificate or ssl_trusted_certificate for");
    };
    let written = settings.stapling_responder.as_ref().map(|url| url.lossy().into_owned());
    let Some(url) = written.or_else(|| leaf.ocsp_responder().map(str::to_owned)) else {
        return ignored("no OCSP responder URL is in");
    };
    if !is_plain_url(&url) {
        return ignored(&format!("the OCSP responder URL must begin with http://, but is \"{url}\", for"));
    }
    Some(Ok(StapleRequest {
        name: shown.into_owned(),
        certificate: chain[0].to_vec(),
        issuer: issuer.to_vec(),
        url,
        verify: settings.stapling_verify,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSite;

    const LEAF: &[u8] = include_bytes!("x509/ocsp/fixtures/leaf.pem");
    const OTHER: &[u8] = include_bytes!("x509/ocsp/fixtures/other.pem");
    const ROOT: &[u8] = include_bytes!("x509/ocsp/fixtures/root.pem");

    fn site(says: &str) -> TestSite {
        let files: [(&str, &[u8]); 4] =
            [("leaf", LEAF), ("other", OTHER), ("root", ROOT), ("chain", &[LEAF, ROOT].concat())];
        let issuer = "acme_issuer ca { uri https://ca.test/; }";
        let server = "listen 443 ssl; server_name a.test; acme_certificate ca; ssl_certificate_key k;";
        TestSite::of(&format!("{issuer} server {{ {server} {says} }}"), &files)
    }

    fn question_for(says: &str) -> Option<Result<StapleRequest, String>> {
        let site = site(&format!("ssl_stapling on; {says}"));
        question(site.tls(), site.files(), &site.tls().certificates[0])
    }

    #[test]
    fn responder_is_that_of_the_certificate_or_of_the_configuration() {
        let question = question_for("ssl_certificate chain;").unwrap().unwrap();
        assert_eq!((question.name.as_str(), question.url.as_str()), ("chain", "http://ocsp.test:8081/path"));
        assert_eq!([question.certificate, question.issuer], [LEAF, ROOT].map(crate::testing::der));
        assert!(!question.verify);
        let directives = "ssl_certificate leaf; ssl_trusted_certificate root; ssl_stapling_verify on;";
        let written =
            question_for(&format!("{directives} ssl_stapling_responder http://b.test/;")).unwrap().unwrap();
        assert!(written.verify && written.url == "http://b.test/");
    }

    #[test]
    fn reason_for_missing_ocsp_query_is_reported() {
        for (says, why) in [
            ("ssl_certificate leaf;", "no issuer certificate was found in"),
            ("ssl_certificate leaf; ssl_trusted_certificate other;", "no issuer certificate was found in"),
            ("ssl_certificate other; ssl_trusted_certificate root;", "no OCSP responder URL is in"),
            ("ssl_certificate chain; ssl_stapling_responder https://b.test/;", "must begin with http://"),
            ("ssl_certificate $host;", "named by variables"),
            ("ssl_certificate $acme_certificate;", "ordered by ACME"),
        ] {
            let warning = question_for(says).unwrap().unwrap_err();
            assert!(
                warning.starts_with("\"ssl_stapling\" ignored, ") && warning.contains(why),
                "{says}: {warning}"
            );
        }
        assert_eq!(question_for("ssl_certificate none;"), None, "which is told elsewhere");
    }

    #[test]
    fn each_certificate_has_its_place_and_a_question_one_staple() {
        let mut state = TlsReloadState::default();
        let mut of = |says: &str| {
            let site = site(says);
            staples(site.tls(), site.files(), &mut state)
        };
        assert!(of("ssl_certificate chain;").is_empty());
        assert!(of("ssl_certificate chain; ssl_stapling on; ssl_stapling_file answer;").is_empty());
        let two = "ssl_stapling on; ssl_certificate_key k; ssl_certificate other; ssl_certificate chain;";
        let [before, after] = [of(two), of(two)];
        assert!(before[0].is_none() && after.len() == 2);
        assert!(Arc::ptr_eq(before[1].as_ref().unwrap(), after[1].as_ref().unwrap()), "over a reload");
    }
}
