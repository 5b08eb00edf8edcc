//! Files of certificates, keys and passwords, as whoever may read them has read them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use myriad_conf::{Diagnostic, Text};
use myriad_x509::Trust;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use super::{TlsFiles, tls_path};
use crate::tls::{Part, certificates, certified, passwords, revocation_lists};

/// What the supervisor has read.
#[derive(Clone, Copy)]
pub(in crate::compile) struct Files<'a> {
    pub(super) read: &'a TlsFiles,
    pub(super) folder: &'a Path,
}

impl<'a> Files<'a> {
    /// What a file holds, or the text behind `data:`.
    pub(super) fn bytes<'t>(&self, name: &'t Text) -> Result<Cow<'t, [u8]>, Box<Diagnostic>>
    where
        'a: 't,
    {
        if let Some(data) = name.bytes().strip_prefix(b"data:") {
            return Ok(Cow::Borrowed(data));
        }
        let path = tls_path(self.folder, name);
        match self.read.get(&path) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => Err(fail(name, format!("cannot read \"{}\"", path.display()))),
        }
    }

    /// The passwords of `*_password_file`.
    pub(super) fn passwords(&self, name: Option<&Text>) -> Result<Vec<Vec<u8>>, Box<Diagnostic>> {
        match name {
            Some(name) => Ok(passwords(&self.bytes(name)?)),
            None => Ok(Vec::new()),
        }
    }

    /// A certificate and its key.
    pub(super) fn certified(
        &self,
        (certificate, key): (&Text, &Text),
        passwords: &[Vec<u8>],
        provider: &CryptoProvider,
    ) -> Result<Arc<CertifiedKey>, Box<Diagnostic>> {
        let (chain_pem, key_pem) = (self.bytes(certificate)?, self.bytes(key)?);
        match certified(&chain_pem, &key_pem, passwords, provider) {
            Ok((certified, _)) => Ok(certified),
            Err(error) => Err(match error.part {
                Part::Certificate => fail(certificate, not_usable(certificate, &error.why)),
                Part::Key => fail(key, not_usable(key, &error.why)),
                Part::Pair => fail(
                    key,
                    format!(
                        "the key \"{}\" does not belong to the certificate \"{}\"",
                        shown(key),
                        shown(certificate)
                    ),
                ),
            }),
        }
    }

    /// An OCSP answer (`ssl_stapling_file`) that can be shown.
    pub(super) fn ocsp_answer(&self, name: &Text) -> Result<Vec<u8>, Box<Diagnostic>> {
        let der = self.bytes(name)?;
        if let Err(why) = myriad_x509::check_form(&der) {
            let help = "make it by: openssl ocsp -issuer CA.crt -cert SITE.crt -url RESPONDER -respout FILE";
            return Err(Box::new(fail(name, not_usable(name, &why.to_string())).help(help)));
        }
        Ok(der.into_owned())
    }

    /// Trusts the authorities of a file. Returns their certificates.
    pub(super) fn trust(
        &self,
        name: &Text,
        trust: &mut Trust,
    ) -> Result<Vec<rustls::pki_types::CertificateDer<'static>>, Box<Diagnostic>> {
        let all = certificates(&self.bytes(name)?).map_err(|why| fail(name, not_usable(name, &why)))?;
        for certificate in &all {
            trust.add(certificate).map_err(|why| fail(name, not_usable(name, &why.to_string())))?;
        }
        Ok(all)
    }

    /// Takes back what the lists of a file say.
    pub(super) fn revoke(&self, name: &Text, trust: &mut Trust) -> Result<(), Box<Diagnostic>> {
        let lists = revocation_lists(&self.bytes(name)?).map_err(|why| fail(name, not_usable(name, &why)))?;
        for list in lists {
            trust.revoke(list);
        }
        Ok(())
    }
}

/// A name for a message; what stands behind `data:` may be a key.
fn shown(name: &Text) -> Cow<'_, str> {
    if name.bytes().starts_with(b"data:") { Cow::Borrowed("data:") } else { name.lossy() }
}

fn not_usable(name: &Text, why: &str) -> String {
    format!("cannot use \"{}\": {why}", shown(name))
}

#[expect(clippy::unnecessary_box_returns, reason = "results carry it boxed")]
pub(super) fn fail(name: &Text, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(name.span, message))
}
