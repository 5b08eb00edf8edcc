//! HTTPS of the preset: a certificate from an ACME authority (`--domain`, or `https` in the line of a site), or a
//! self-signed one for tests (`--self-signed`).

use std::fmt::Write;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};
use myriad_conf::registry::BuildFeature;
use myriad_tls::acme_client::{CertificateInfo, SigningKey, csr};

use super::authorities::{LETS_ENCRYPT, STAGING};
use super::quoting::quoted;
use super::values;

/// Validity of a self-signed certificate in days.
const SELF_SIGNED_DAYS: u64 = 397;
/// Number of days before its expiry at which a self-signed certificate is replaced.
const FEW_DAYS: u64 = 30;

/// Directives besides the certificate that tests of web sites expect of a site with HTTPS.
const MODERN: &str = "        ssl_prefer_server_ciphers on;
        # Other sites receive only the origin of the referring page.
        add_header Referrer-Policy strict-origin-when-cross-origin always;
";

/// Command-line options for HTTPS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpsOptions {
    pub(super) domains: Vec<String>,
    pub(super) email: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) authority: Option<PathBuf>,
    pub(super) staging: bool,
    pub(super) self_signed: bool,
    pub(super) listen: Option<String>,
}

/// Self-signed certificate to be created, for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfSigned {
    path: PathBuf,
    names: Vec<String>,
}

impl HttpsOptions {
    /// Sets an option that takes a value; returns `false` if it is not an option for HTTPS.
    pub(super) fn set(&mut self, name: &str, value: &str) -> bool {
        match name {
            "--domain" => values::add_names(&mut self.domains, value),
            "--email" => self.email = Some(value.to_owned()),
            "--acme-directory" => self.directory = Some(value.to_owned()),
            "--acme-ca" => self.authority = Some(value.into()),
            "--https-listen" => self.listen = Some(value.to_owned()),
            _ => return false,
        }
        true
    }

    /// Returns whether HTTPS is requested.
    pub(super) fn is_on(&self) -> bool {
        self.self_signed || !self.domains.is_empty()
    }

    /// Checks the values of the options, and that they do not contradict each other. Returns an error text for the
    /// first fault.
    pub(super) fn check(&self) -> Result<(), String> {
        self.domains.iter().try_for_each(|name| values::domain("--domain", name))?;
        self.email.as_deref().map_or(Ok(()), values::email)?;
        self.directory.as_deref().map_or(Ok(()), values::directory)?;
        self.listen.as_deref().map_or(Ok(()), |listen| values::listen("--https-listen", listen))?;
        let of_acme = [
            ("--email", self.email.is_some()),
            ("--acme-directory", self.directory.is_some()),
            ("--acme-ca", self.authority.is_some()),
            ("--acme-staging", self.staging),
        ];
        if let Some((option, _)) = of_acme.iter().find(|(_, given)| *given && self.domains.is_empty()) {
            return Err(format!(
                "wordpress: {option} requires --domain, or `https` in a line of --sites, which set the names of the certificate"
            ));
        }
        if self.self_signed && !self.domains.is_empty() {
            return Err("wordpress: --domain and --self-signed exclude each other".into());
        }
        if self.listen.is_some() && !self.is_on() {
            return Err("wordpress: --https-listen requires --domain or --self-signed".into());
        }
        if self.staging && self.directory.is_some() {
            return Err("wordpress: --acme-staging and --acme-directory exclude each other".into());
        }
        Ok(())
    }

    /// Returns a warning about names of the site that the certificate of `--domain` does not cover: their clients are
    /// redirected to HTTPS too, where browsers show an error. Returns `None` if all are covered, or without `--domain`.
    pub(super) fn uncovered(&self, names: &[String]) -> Option<String> {
        let is_covered = |name: &str| {
            self.domains.iter().any(|domain| match domain.strip_prefix('.') {
                Some(bare) => {
                    let www = name.split_at_checked(4).filter(|(www, _)| www.eq_ignore_ascii_case("www."));
                    bare.eq_ignore_ascii_case(www.map_or(name, |(_, rest)| rest))
                }
                None => domain.eq_ignore_ascii_case(name),
            })
        };
        // A name with a leading dot includes all subdomains; `--domain` with a leading dot covers only `www`.
        let left: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| *name != "_" && !is_covered(name.strip_prefix('.').unwrap_or(name)))
            .collect();
        (!self.domains.is_empty() && !left.is_empty()).then(|| {
            format!(
                "wordpress: the certificate of --domain does not include {}, so browsers show a warning for these names: add \
                     them to --domain",
                left.join(", ")
            )
        })
    }

    /// Returns the values that are inserted into the configuration, each with its option.
    pub(super) fn words(&self) -> Vec<(&'static str, &str)> {
        let mut words: Vec<(&'static str, &str)> =
            self.domains.iter().map(|name| ("--domain", name.as_str())).collect();
        words.extend(self.email.as_deref().map(|email| ("--email", email)));
        words.extend(self.directory.as_deref().map(|uri| ("--acme-directory", uri)));
        words.extend(self.listen.as_deref().map(|listen| ("--https-listen", listen)));
        words
    }

    /// Returns the arguments of `listen` for HTTPS; empty without HTTPS. Includes HTTP/3 if this build has it, the
    /// certificate is one of an authority, and the address has a port. `as_root` is true if root starts the server.
    pub(super) fn listens(&self, as_root: bool) -> Vec<String> {
        let usual = if as_root { "443" } else { "8443" };
        let listen = self.listen.as_deref().unwrap_or(usual);
        let both = self.listen.is_none() && has_ipv6();
        let mut listens = Vec::new();
        if self.is_on() {
            listens.push(format!("{listen} ssl"));
            listens.extend(both.then(|| format!("[::]:{usual} ssl")));
        }
        let has_http3 = BuildFeature::missing("http3").is_none();
        if has_http3 && !self.domains.is_empty() && port(listen).is_some() {
            // Browsers learn of HTTP/3 by `Alt-Svc`, and use HTTP/2 if its packets are lost.
            listens.push(format!("{listen} quic reuseport"));
            listens.extend(both.then(|| format!("[::]:{usual} quic reuseport")));
        }
        listens
    }

    /// Returns the directives of a `server` with these addresses and a certificate for these domains, or the
    /// self-signed one; empty without addresses or a certificate.
    pub(super) fn server(
        &self,
        prefix: &Path,
        listens: &[String],
        domains: &[String],
    ) -> Result<String, String> {
        let mut server = String::new();
        if listens.is_empty() || (domains.is_empty() && !self.self_signed) {
            return Ok(server);
        }
        for listen in listens {
            let _ = write!(server, "listen {listen};\n        ");
        }
        server.push_str("http2 on;\n");
        server.push_str(MODERN);
        if self.self_signed {
            let word = quoted(&self_signed_path(prefix))?;
            let _ = write!(server, "        ssl_certificate {word};\n        ssl_certificate_key {word};");
            return Ok(server);
        }
        let port = port(&listens[0]).filter(|port| *port != "443");
        let _ = write!(
            server,
            "        acme_certificate {} {};\n        ssl_certificate $acme_certificate;\n        ssl_certificate_key \
                 $acme_certificate_key;\n\n        # Once the certificate is issued, all requests are redirected to https, and \
                 browsers remember it for half a year.\n        https_only on{};",
            self.issuer().0,
            domains.join(" "),
            port.map(|port| format!(" port={port}")).unwrap_or_default(),
        );
        Ok(server)
    }

    /// Returns the self-signed certificate that must be created before the start; `None` if none is requested.
    pub(super) fn self_signed(&self, prefix: &Path, names: &[String]) -> Option<SelfSigned> {
        let made = || SelfSigned { path: self_signed_path(prefix), names: names.to_vec() };
        self.self_signed.then(made)
    }

    /// Returns the directives of `http` for the ACME authority; empty if no site requests a certificate from it.
    pub(super) fn issuers(&self, prefix: &Path) -> Result<String, String> {
        if self.domains.is_empty() {
            return Ok(String::new());
        }
        let (name, uri) = self.issuer();
        let mut issuer = format!("acme_issuer {name} {{\n        uri {uri};\n");
        if let Some(email) = &self.email {
            let _ = writeln!(issuer, "        contact {email};");
        }
        if let Some(authority) = &self.authority {
            values::authority(authority)?;
            let authority =
                std::path::absolute(authority).map_err(|error| format!("wordpress: --acme-ca: {error}"))?;
            let _ = writeln!(issuer, "        ssl_trusted_certificate {};", quoted(&authority)?);
        }
        let _ = write!(
            issuer,
            "        state_path {};\n        accept_terms_of_service;\n    }}",
            quoted(&prefix.join("acme").join(name))?
        );
        Ok(issuer)
    }

    fn issuer(&self) -> (&'static str, &str) {
        match &self.directory {
            Some(uri) => ("acme", uri),
            None if self.staging => STAGING,
            None => LETS_ENCRYPT,
        }
    }
}

fn self_signed_path(prefix: &Path) -> PathBuf {
    prefix.join("self-signed.pem")
}

/// Returns the port in an argument of `listen`; `None` for a Unix socket, or without a port.
pub(super) fn port(listen: &str) -> Option<&str> {
    let address = listen.split(' ').next().unwrap_or_default();
    let port = address.rsplit(':').next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_port.then_some(port)
}

/// Returns whether an interface of this machine has an IPv6 address.
pub(super) fn has_ipv6() -> bool {
    fs::read("/proc/net/if_inet6").is_ok_and(|interfaces| !interfaces.is_empty())
}

impl SelfSigned {
    /// Creates the certificate, unless there is one for these names that is valid for more than [`FEW_DAYS`] further
    /// days.
    pub fn make(&self) -> io::Result<()> {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let identifiers = self.identifiers();
        let known = fs::read(&self.path).ok().and_then(|text| CertificateInfo::from_pem(&text));
        let fits = |known: CertificateInfo| {
            known.not_after_s > now_s + FEW_DAYS * 86_400
                && identifiers.iter().all(|identifier| known.is_valid_for(&identifier.to_string()))
        };
        if known.is_some_and(fits) {
            return Ok(());
        }
        let made = SigningKey::generate(AcmeKeyKind::P256).and_then(|key| {
            let certificate = csr::self_signed(&key, &identifiers, now_s, SELF_SIGNED_DAYS)?;
            Ok(myriad_tls::x509::pem::block("CERTIFICATE", &certificate) + &key.to_pem())
        });
        let text = made.map_err(io::Error::other)?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.is_dir()) {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        }
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
        io::Write::write_all(&mut file, text.as_bytes())
    }

    fn identifiers(&self) -> Vec<AcmeIdentifier> {
        let own = self.names.iter().filter(|name| name.as_str() != "_").map(|name| match name.parse() {
            Ok(address) => AcmeIdentifier::Ip(address),
            Err(_) => AcmeIdentifier::Dns(name.trim_start_matches('.').to_ascii_lowercase()),
        });
        let local = [
            AcmeIdentifier::Dns("localhost".to_owned()),
            AcmeIdentifier::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            AcmeIdentifier::Ip(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        ];
        own.chain(local).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_not_covered_by_certificate_are_reported() {
        let of = |domains: &[&str], names: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
            HttpsOptions { domains: owned(domains), ..HttpsOptions::default() }.uncovered(&owned(names))
        };
        for names in [&["example.com", "WWW.example.com", ".example.com", "_"][..], &[]] {
            assert_eq!(of(&[".example.com"], names), None, "{names:?}");
        }
        assert_eq!(of(&[], &["example.com"]), None, "no warning without a certificate");
        let warning =
            of(&["example.com"], &["example.com", "www.example.com", "*.example.com", "www."]).unwrap();
        assert!(warning.contains("does not include www.example.com, *.example.com, www.,"), "{warning}");
    }

    fn https(options: &[(&str, &str)]) -> HttpsOptions {
        let mut https = HttpsOptions::default();
        for (name, value) in options {
            assert!(https.set(name, value), "{name}");
        }
        https
    }

    #[test]
    fn domain_brings_issuer_certificate_and_redirect() {
        let https =
            https(&[("--domain", "a.test,www.a.test"), ("--email", "me@a.test"), ("--https-listen", "8443")]);
        let prefix = Path::new("/srv/my site");
        assert_eq!(
            https.issuers(prefix).expect("an issuer"),
            "acme_issuer letsencrypt {\n        uri https://acme-v02.api.letsencrypt.org/directory;\n        \
             contact me@a.test;\n        state_path \"/srv/my site/acme/letsencrypt\";\n        \
             accept_terms_of_service;\n    }"
        );
        let server = https.server(prefix, &https.listens(true), &https.domains).expect("a server");
        for part in [
            "listen 8443 ssl;\n",
            "http2 on;",
            "acme_certificate letsencrypt a.test www.a.test;",
            "https_only on port=8443;",
        ] {
            assert!(server.contains(part), "{part}: {server}");
        }
        let has_http3 = BuildFeature::missing("http3").is_none();
        assert_eq!(server.contains("listen 8443 quic reuseport;\n"), has_http3, "{server}");
        let none = HttpsOptions::default();
        assert!(none.listens(true).is_empty() && none.issuers(prefix).expect("none").is_empty());
        assert_eq!(https.server(prefix, &https.listens(true), &[]).as_deref(), Ok(""));
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        assert!(
            https(&[("--email", "x@a.test")])
                .check()
                .expect_err("email")
                .contains("--email requires --domain")
        );
        assert!(https(&[("--https-listen", "443")]).check().is_err());
        let both = HttpsOptions { self_signed: true, ..https(&[("--domain", "a.test")]) };
        assert!(both.check().is_err());
        let staging =
            HttpsOptions { staging: true, ..https(&[("--domain", "a"), ("--acme-directory", "https://x/")]) };
        assert!(staging.check().is_err());
        assert!(https(&[("--domain", "a.test")]).check().is_ok());
        for (option, value) in [
            ("--domain", "*.a.test"),
            ("--email", "x"),
            ("--acme-directory", "http://x/"),
            ("--https-listen", "0"),
        ] {
            let error = https(&[("--domain", "a.test"), (option, value)]).check().expect_err(option);
            assert!(error.contains(&format!("{option} \"{value}\"")), "{error}");
        }
    }

    #[test]
    fn ports_are_found_in_addresses() {
        let ports = ["443", "127.0.0.1:8443", "[::1]:443", "unix:/run/x.sock", "443 reuseport"].map(port);
        assert_eq!(ports, [Some("443"), Some("8443"), Some("443"), None, Some("443")]);
    }

    #[test]
    fn certificate_for_trying_out_is_made_once_for_all_names() {
        let folder = std::env::temp_dir().join(format!("myriad-self-signed-{}", std::process::id()));
        let path = folder.join("self-signed.pem");
        let make = |name: &str| {
            SelfSigned { path: path.clone(), names: vec![name.to_owned()] }.make().expect("made");
            fs::read(&path).expect("read")
        };
        let first = make("_");
        let facts = CertificateInfo::from_pem(&first).expect("facts");
        assert_eq!(facts.names, ["localhost", "127.0.0.1", "::1"]);
        assert!(facts.self_signed && SigningKey::from_pem(&first).is_some());
        assert_eq!(make("_"), first);
        let second = make("a.test");
        assert_ne!(second, first);
        assert!(CertificateInfo::from_pem(&second).expect("facts").is_valid_for("a.test"));
        fs::remove_dir_all(&folder).expect("clean");
    }
}
