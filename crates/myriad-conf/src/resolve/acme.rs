//! Resolution of `acme_issuer` and `acme_certificate`.

use std::net::IpAddr;

use super::{Builder, OpenLevel, default_settings};
use crate::{
    diagnostic::Diagnostic,
    model::{AcmeCertificateConf, AcmeIdentifier, AcmeIssuerConf, HttpConf, ServerConf, ServerName},
    parsed::Node,
    registry::{Contexts, Set, nearest},
    span::Span,
    text::Text,
};

/// Variables that stand for the certificate and key of an `acme_certificate`.
pub(crate) const VARIABLES: [&[u8]; 2] = [b"$acme_certificate", b"$acme_certificate_key"];

impl Builder<'_> {
    pub(super) fn acme_issuer(&mut self, node: &Node, http: &HttpConf) -> Option<AcmeIssuerConf> {
        let name = String::from_utf8_lossy(&node.args[0].text).into_owned();
        let mut issuer = default_settings::acme_issuer(self.registry, name.clone(), node.span);
        let errors = self.findings.len();
        // The name becomes a component of file paths.
        if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
            let message = format!("invalid issuer name \"{name}\"");
            self.findings.push(Diagnostic::error(node.args[0].span, message));
        }
        if let Some(other) = http.acme_issuers.iter().find(|other| other.name == name) {
            let message = format!("duplicate acme_issuer \"{name}\"");
            self.findings
                .push(Diagnostic::error(node.span, message).related(other.span, "first defined here"));
        }
        let mut level = OpenLevel::new(Contexts::ACME_ISSUER);
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            if let Set::AcmeIssuer(set) = args.directive.set {
                let done = set(&mut issuer, &mut args);
                self.note(done);
            }
        }
        if issuer.uri.value.is_empty() && self.findings.len() == errors {
            let message = format!("\"uri\" is missing in acme_issuer \"{name}\"");
            self.findings.push(
                Diagnostic::error(node.span, message).help(
                    "write the ACME directory URL: uri https://acme-v02.api.letsencrypt.org/directory;",
                ),
            );
        }
        (self.findings.len() == errors || !issuer.uri.value.is_empty()).then_some(issuer)
    }

    /// Sets the identifiers of every `acme_certificate`, and checks that it has an existing issuer and at least one
    /// identifier, and that servers that use `$acme_certificate` have an `acme_certificate`.
    pub(super) fn check_acme(&mut self, http: &mut HttpConf) {
        let issuers: Vec<String> = http.acme_issuers.iter().map(|issuer| issuer.name.clone()).collect();
        let tls = &http.settings.tls;
        let inherited: Vec<Span> = tls.certificates.iter().chain(&tls.keys).map(|text| text.span).collect();
        for server in &mut http.servers {
            let Some(mut certificate) = server.acme.take() else {
                self.check_no_acme(server, &inherited);
                continue;
            };
            self.check_issuer(&certificate.issuer, &issuers);
            self.identify(&mut certificate, server);
            server.acme = Some(certificate);
        }
    }

    /// Rejects `$acme_certificate` in a server without `acme_certificate`. If the server inherits the variable from
    /// `http`, the variable gives no certificate, as in nginx; this causes a warning if the server listens with TLS and
    /// has no other certificate.
    fn check_no_acme(&mut self, server: &ServerConf, inherited: &[Span]) {
        let tls = &server.settings.tls;
        let help = "write acme_certificate ISSUER; in the server";
        for text in tls.certificates.iter().chain(&tls.keys).filter(|text| is_variable(text)) {
            if inherited.contains(&text.span) {
                continue;
            }
            let is_reported = self.findings.iter().any(|finding| finding.span == text.span);
            if !is_reported {
                let message =
                    format!("\"{}\" is used in a server without \"acme_certificate\"", text.lossy());
                self.findings.push(Diagnostic::error(text.span, message).help(help));
            }
        }
        let tls_listen = server.listens.iter().find(|listen| listen.ssl || listen.quic);
        let has_other = tls.certificates.iter().any(|text| !is_variable(text));
        let lacks = tls.certificates.iter().any(|text| inherited.contains(&text.span) && is_variable(text));
        if let Some(listen) = tls_listen.filter(|_| lacks && !has_other) {
            let message = "this server inherits \"ssl_certificate $acme_certificate\" and has no \"acme_certificate\": \
                           all its TLS handshakes fail";
            self.findings.push(Diagnostic::warning(listen.span, message).help(help));
        }
    }

    fn check_issuer(&mut self, issuer: &Text, issuers: &[String]) {
        let name = issuer.lossy();
        if issuers.iter().any(|known| *known == name) {
            return;
        }
        let diagnostic = Diagnostic::error(issuer.span, format!("issuer \"{name}\" is missing"));
        self.findings.push(match nearest(&name, issuers.iter().map(String::as_str)) {
            Some(near) => diagnostic.help(format!("did you mean \"{near}\"?")),
            None => diagnostic.help(format!("define it in http: acme_issuer {name} {{ uri URL; … }}")),
        });
    }

    /// Sets the identifiers of a certificate: those written in the directive, or else the names of the server.
    fn identify(&mut self, certificate: &mut AcmeCertificateConf, server: &ServerConf) {
        let errors = self.findings.len();
        let mut found = Vec::new();
        for text in &certificate.written {
            if let Some(identifiers) = identifiers(&text.lossy()) {
                found.extend(identifiers);
                continue;
            }
            let message = format!("invalid server name \"{}\" in \"acme_certificate\"", text.lossy());
            self.findings.push(Diagnostic::error(text.span, message).help(
                "only host names and IP addresses are supported; wildcards would require the DNS challenge",
            ));
        }
        if certificate.written.is_empty() {
            for name in &server.names {
                self.identify_by_name(name, certificate, &mut found);
            }
        }
        let mut unique = Vec::new();
        for identifier in found {
            if !unique.contains(&identifier) {
                unique.push(identifier);
            }
        }
        if unique.is_empty() && self.findings.len() == errors {
            let message = "no identifiers for \"acme_certificate\": the server has no name";
            self.findings.push(
                Diagnostic::error(certificate.span, message)
                    .help("write server_name NAME; or list the names of the certificate after its issuer"),
            );
        }
        certificate.identifiers = unique;
    }

    fn identify_by_name(
        &mut self,
        name: &ServerName,
        certificate: &AcmeCertificateConf,
        found: &mut Vec<AcmeIdentifier>,
    ) {
        let refused = match name {
            ServerName::Exact(name) if name.is_empty() || name == "_" => return,
            ServerName::Exact(name) | ServerName::Dot(name) => match identifiers(name) {
                Some(identifiers) => return found.extend(identifiers),
                None => name.clone(),
            },
            ServerName::WildcardPrefix(name) => format!("*{name}"),
            ServerName::WildcardSuffix(name) => format!("{name}*"),
            ServerName::Hostname => "$hostname".to_owned(),
            ServerName::Regex(text) => {
                let message =
                    format!("the regex \"{}\" is ignored: a certificate requires exact names", text.lossy());
                self.findings.push(Diagnostic::warning(text.span, message));
                return;
            }
        };
        let message = format!("invalid server name \"{refused}\" for \"acme_certificate\"");
        self.findings.push(Diagnostic::error(certificate.span, message).help(
            "list the names of the certificate after its issuer; wildcards would require the DNS challenge",
        ));
    }
}

fn is_variable(text: &Text) -> bool {
    VARIABLES.contains(&text.bytes())
}

/// Returns the identifiers of a host name or address. `.example.com` means the name itself and `www.example.com`, as in
/// nginx's module. Returns `None` if an authority cannot issue a certificate for the name by `http-01` or
/// `tls-alpn-01`.
fn identifiers(name: &str) -> Option<Vec<AcmeIdentifier>> {
    if let Ok(address) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return Some(vec![AcmeIdentifier::Ip(address)]);
    }
    let (bare, dotted) = name.strip_prefix('.').map_or((name, false), |bare| (bare, true));
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // Maximum lengths of names and labels: RFC 1035 section 2.3.4.
    if bare.len() > 253 || !bare.split('.').all(is_label) {
        return None;
    }
    let bare = bare.to_ascii_lowercase();
    let www = dotted.then(|| AcmeIdentifier::Dns(format!("www.{bare}")));
    Some(std::iter::once(AcmeIdentifier::Dns(bare)).chain(www).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_or_nothing() {
        let dns = |name: &str| AcmeIdentifier::Dns(name.to_owned());
        assert_eq!(identifiers("A.test"), Some(vec![dns("a.test")]));
        assert_eq!(identifiers(".a.test"), Some(vec![dns("a.test"), dns("www.a.test")]));
        assert_eq!(identifiers("192.0.2.1"), Some(vec![AcmeIdentifier::Ip("192.0.2.1".parse().unwrap())]));
        assert_eq!(identifiers("[::1]"), identifiers("::1"));
        for name in ["", ".", "*.a.test", "a..test", ".a..test", "a.test.", "-a.test", "a b", "ä.test", "a/b"]
        {
            assert_eq!(identifiers(name), None, "{name}");
        }
    }
}
