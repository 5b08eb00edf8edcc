//! Access to the files of certificates, keys and passwords that the supervisor has read with its rights.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::x509::TrustStore;
pub(crate) use myriad_conf::settings::{TLS_DATA as DATA, tls_display_name as display_name};
use myriad_conf::{Diagnostic, Text};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::certified_key::{PairPart, certificates, certified_key, revocation_lists};
use super::key::passwords;

/// Contents of files by path, as read by the supervisor.
pub type TlsFiles = HashMap<PathBuf, Vec<u8>>;

/// Returns true if the name of a certificate or key is that of a file: it is not empty, has no variables, and does not
/// begin with `data:`.
pub fn is_tls_file(name: &Text) -> bool {
    !name.is_empty() && !name.has_variables() && !name.bytes().starts_with(DATA)
}

/// Returns the path of a TLS file. Relative names are resolved against the folder of the configuration, as in nginx.
pub fn tls_path(folder: &Path, name: &Text) -> PathBuf {
    folder.join(OsStr::from_bytes(name.bytes()))
}

/// Access to the TLS files of a configuration, which the supervisor has read. Errors are diagnostics at the position
/// where the configuration names the file.
#[derive(Clone, Copy)]
pub struct TlsFileReader<'a> {
    /// Contents, by path, of the files that could be read: those of [`crate::tls_files`], and for ACME issuers those of
    /// [`crate::acme_state`].
    pub read: &'a TlsFiles,
    /// Folder of the main configuration file, against which relative names are resolved.
    pub folder: &'a Path,
}

impl<'a> TlsFileReader<'a> {
    /// Returns the contents of a file, or the text after `data:`. Fails if the file could not be read.
    pub(crate) fn bytes<'t>(&self, name: &'t Text) -> Result<Cow<'t, [u8]>, Box<Diagnostic>>
    where
        'a: 't,
    {
        if let Some(data) = name.bytes().strip_prefix(DATA) {
            return Ok(Cow::Borrowed(data));
        }
        let path = tls_path(self.folder, name);
        match self.read.get(&path) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => Err(file_error(name, format!("cannot read \"{}\"", path.display()))),
        }
    }

    /// Returns the passwords in a file (`*_password_file`); none if no file is named. Fails if the file cannot be read.
    pub(crate) fn passwords(&self, name: Option<&Text>) -> Result<Vec<Vec<u8>>, Box<Diagnostic>> {
        match name {
            Some(name) => Ok(passwords(&self.bytes(name)?)),
            None => Ok(Vec::new()),
        }
    }

    /// Returns a certificate chain with its private key, from files or from texts after `data:`. Fails if one cannot be
    /// read or used, or if they do not match.
    pub(crate) fn certified(
        &self,
        (certificate, key): (&Text, &Text),
        passwords: &[Vec<u8>],
        provider: &CryptoProvider,
    ) -> Result<Arc<CertifiedKey>, Box<Diagnostic>> {
        let (chain_pem, key_pem) = (self.bytes(certificate)?, self.bytes(key)?);
        match certified_key(&chain_pem, &key_pem, passwords, provider) {
            Ok((certified, _)) => Ok(certified),
            Err(error) => Err(match error.part {
                PairPart::Certificate => file_error(certificate, unusable_message(certificate, &error.why)),
                PairPart::Key => file_error(key, unusable_message(key, &error.why)),
                PairPart::Pair => file_error(
                    key,
                    format!(
                        "the private key \"{}\" does not match the certificate \"{}\"",
                        display_name(key.bytes()),
                        display_name(certificate.bytes())
                    ),
                ),
            }),
        }
    }

    /// Returns the OCSP response in a file (`ssl_stapling_file`), in DER. Fails if the file cannot be read, or the
    /// response is malformed, too large or not successful; its signature and validity are not checked.
    pub(crate) fn ocsp_response(&self, name: &Text) -> Result<Vec<u8>, Box<Diagnostic>> {
        let der = self.bytes(name)?;
        if let Err(why) = crate::x509::check_form(&der) {
            let help =
                "create it with: openssl ocsp -issuer CA.crt -cert SITE.crt -url RESPONDER -respout FILE";
            return Err(Box::new(file_error(name, unusable_message(name, &why.to_string())).help(help)));
        }
        Ok(der.into_owned())
    }

    /// Adds the CA certificates of a file to `trust` and returns their DER encodings. Fails if the file cannot be read
    /// or contains an unusable certificate.
    pub(crate) fn trust(
        &self,
        name: &Text,
        trust: &mut TrustStore,
    ) -> Result<Vec<CertificateDer<'static>>, Box<Diagnostic>> {
        let all =
            certificates(&self.bytes(name)?).map_err(|why| file_error(name, unusable_message(name, &why)))?;
        for certificate in &all {
            trust
                .add(certificate)
                .map_err(|why| file_error(name, unusable_message(name, &why.to_string())))?;
        }
        Ok(all)
    }

    /// Adds the revocation lists of a file to `trust`. Fails if the file cannot be read or contains an unusable list.
    pub(crate) fn add_revocation_lists(
        &self,
        name: &Text,
        trust: &mut TrustStore,
    ) -> Result<(), Box<Diagnostic>> {
        let lists = revocation_lists(&self.bytes(name)?)
            .map_err(|why| file_error(name, unusable_message(name, &why)))?;
        for list in lists {
            trust.add_revocation_list(list);
        }
        Ok(())
    }
}

fn unusable_message(name: &Text, why: &str) -> String {
    format!("cannot use \"{}\": {why}", display_name(name.bytes()))
}

#[expect(clippy::unnecessary_box_returns, reason = "callers return it in a boxed result")]
pub(crate) fn file_error(name: &Text, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(name.span, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FOLDER, TestCertificate, TestSite};
    use myriad_conf::model::AcmeKeyKind;
    use rustls::crypto::aws_lc_rs::default_provider;

    fn files(all: &[(&str, &[u8])]) -> TlsFiles {
        all.iter().map(|(name, bytes)| (Path::new(FOLDER).join(name), bytes.to_vec())).collect()
    }

    fn reading(read: &TlsFiles) -> TlsFileReader<'_> {
        TlsFileReader { read, folder: Path::new(FOLDER) }
    }

    #[test]
    fn names_with_variables_and_what_is_written_out_are_no_files() {
        for (name, expected) in [("a.pem", true), ("/a.pem", true), ("", false), ("data:x", false)] {
            assert_eq!(is_tls_file(&Text::builtin(name)), expected, "{name}");
        }
        let site =
            TestSite::of("server { listen 443 ssl; ssl_certificate $host; ssl_certificate_key k; }", &[]);
        assert_eq!(site.tls().certificates.iter().map(is_tls_file).collect::<Vec<_>>(), [false]);
    }

    #[test]
    fn relative_names_start_from_the_folder() {
        let path = |name: &str| tls_path(Path::new(FOLDER), &Text::builtin(name));
        assert_eq!(path("tls/a.pem"), Path::new("/conf/tls/a.pem"));
        assert_eq!(path("/etc/a.pem"), Path::new("/etc/a.pem"));
    }

    #[test]
    fn bytes_are_those_of_the_file_or_of_the_text_itself() {
        let read = files(&[("a", b"bytes")]);
        let bytes = |name: &str| {
            let name = Text::builtin(name);
            reading(&read).bytes(&name).map(Cow::into_owned).map_err(|error| error.message)
        };
        assert_eq!(bytes("a"), Ok(b"bytes".to_vec()));
        assert_eq!(bytes("data:text"), Ok(b"text".to_vec()));
        assert_eq!(bytes("b"), Err("cannot read \"/conf/b\"".to_owned()));
    }

    #[test]
    fn faulty_certificate_pair_is_reported_with_name_of_faulty_file() {
        let [made, other] = [TestCertificate::usual(), TestCertificate::of(AcmeKeyKind::P384, "a.test")];
        let read = files(&[("c", &made.certificate), ("k", &made.key), ("o", &other.key), ("x", b"words")]);
        let error = |certificate: &str, key: &str| {
            let pair = (&Text::builtin(certificate), &Text::builtin(key));
            reading(&read).certified(pair, &[], &default_provider()).map(drop).map_err(|error| error.message)
        };
        assert_eq!(error("c", "k"), Ok(()));
        for (certificate, key, expected) in [
            ("x", "k", "cannot use \"x\": the file contains no certificate in PEM format"),
            ("c", "x", "cannot use \"x\": the file contains no private key in PEM format"),
            ("c", "o", "the private key \"o\" does not match the certificate \"c\""),
            ("c", "data:words", "cannot use \"data:\": the file contains no private key in PEM format"),
            ("none", "k", "cannot read \"/conf/none\""),
        ] {
            assert_eq!(error(certificate, key), Err(expected.to_owned()));
        }
    }

    #[test]
    fn ca_certificates_and_crls_are_distinguished() {
        let (root, list) =
            (include_bytes!("../x509/tests/root.pem"), include_bytes!("../x509/tests/root-list.pem"));
        let read = files(&[("root", root), ("list", list)]);
        let mut trust = TrustStore::new(1);
        let [root, list] = ["root", "list"].map(Text::builtin);
        assert_eq!(reading(&read).trust(&root, &mut trust).unwrap().len(), 1);
        assert!(reading(&read).add_revocation_lists(&list, &mut trust).is_ok());
        let message = |result: Result<(), Box<Diagnostic>>| result.unwrap_err().message;
        let no_list = message(reading(&read).add_revocation_lists(&root, &mut trust));
        assert_eq!(
            no_list,
            "cannot use \"root\": the file contains no certificate revocation list in PEM format"
        );
        let no_root = message(reading(&read).trust(&list, &mut trust).map(drop));
        assert_eq!(no_root, "cannot use \"list\": the file contains no certificate in PEM format");
    }
}
