//! Certificates of a server that are named by variables.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::settings::TlsSettings;
use rustls::crypto::aws_lc_rs;

use super::identities::have_variable_names;
use crate::certificates::files::TlsFileReader;
use crate::certificates::named_certificates::NamedCertificates;

/// Returns the loader of a server's certificates if the name of a certificate or key has variables; otherwise `None`.
///
/// # Errors
///
/// The password file cannot be read.
pub fn named_certificates(
    settings: &TlsSettings,
    files: TlsFileReader<'_>,
) -> Result<Option<Arc<NamedCertificates>>, Box<Diagnostic>> {
    if !have_variable_names(settings) {
        return Ok(None);
    }
    let passwords = files.passwords(settings.password_file.as_ref())?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let folder = files.folder.to_owned();
    Ok(Some(Arc::new(NamedCertificates::new(folder, passwords, provider, settings.certificate_cache))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSite;

    #[test]
    fn pairs_are_read_later_where_a_variable_names_one_of_them() {
        let named = |server: &str| {
            let site =
                TestSite::of(&format!("server {{ listen 443 ssl; {server} }}"), &[("words", b"secret\n")]);
            named_certificates(site.tls(), site.files())
                .map(|named| named.is_some())
                .map_err(|error| error.message)
        };
        assert_eq!(named("ssl_certificate a.crt; ssl_certificate_key a.key;"), Ok(false));
        assert_eq!(named("ssl_certificate $ssl_server_name.crt; ssl_certificate_key a.key;"), Ok(true));
        assert_eq!(named("ssl_certificate a.crt; ssl_certificate_key data:$http_key;"), Ok(true));
        let words = "ssl_certificate $host.crt; ssl_certificate_key $host.key; ssl_password_file";
        assert_eq!(named(&format!("{words} words;")), Ok(true));
        assert_eq!(named(&format!("{words} none;")), Err("cannot read \"/conf/none\"".to_owned()));
    }
}
