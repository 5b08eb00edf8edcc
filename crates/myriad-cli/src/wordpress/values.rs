//! Checks of option values before a configuration is generated, so that an error names the option instead of a line of
//! the preset.

use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use myriad_conf::model::ListenAddress;
use myriad_conf::registry::listen_addresses;
use myriad_tls::x509::pem;

use super::authorities::LETS_ENCRYPT;
use super::punycode::ascii_form;

/// Maximum length of a host name, in bytes (RFC 1035 section 3.1).
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
/// Description of valid listening addresses, for error messages.
const ADDRESSES: &str = "use a port from 1 to 65535, ADDRESS:PORT, [ADDRESS]:PORT for IPv6, or unix:PATH";

/// Returns the value of an option. Returns an error text if it is missing or empty, or looks like the next option and
/// is not joined by `=` (`is_glued`).
pub(super) fn option_value(option: &str, value: Option<String>, is_glued: bool) -> Result<String, String> {
    let value = value.filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| format!("option \"{option}\" requires a value"))?;
    if !is_glued && value.starts_with('-') {
        return Err(format!(
            "option \"{option}\" requires a value, but \"{value}\" is another option (write {option}={value} to use it as \
                 the value)"
        ));
    }
    Ok(value)
}

/// Adds the names in a list, separated by commas or spaces, each once regardless of letter case. A final dot, and
/// brackets around an IPv6 address, are removed.
pub(super) fn add_names(known: &mut Vec<String>, list: &str) {
    for whole in list.split([',', ' ']).filter(|name| !name.is_empty()) {
        let name = whole.strip_suffix('.').filter(|name| is_host(name.strip_prefix('.').unwrap_or(name)));
        let name = name.unwrap_or(whole);
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let name = bare.filter(|bare| bare.parse::<Ipv6Addr>().is_ok()).unwrap_or(name);
        if !known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            known.push(name.to_owned());
        }
    }
}

/// Checks a host name or IP address for which a certificate is requested. Wildcards are rejected, because an authority
/// cannot verify them by HTTP. A leading dot means the name itself and its `www`. `source` is the option or the part of
/// a line that contains the name, for messages.
pub(super) fn domain(source: &str, value: &str) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("wordpress: {source} \"{value}\" {why}"));
    if value.starts_with('*') {
        return refuse(
            "is a wildcard, which authorities validate only by DNS; give each host, or write .example.com for example.com \
                 and www.example.com",
        );
    }
    if value.parse::<IpAddr>().is_ok() || is_host(value.strip_prefix('.').unwrap_or(value)) {
        return Ok(());
    }
    if let Some(form) = form_in_dns(value) {
        return refuse(&format!("contains non-ASCII characters; write its DNS form: {form}"));
    }
    refuse("is not a valid host name; write it as in example.com, without https:// and without a path")
}

/// Checks a name of a site, in the form of `server_name`, including wildcards. `source` is the option or the part of a
/// line that contains the name, for messages.
pub(super) fn name(source: &str, value: &str) -> Result<(), String> {
    // A wildcard is valid only as first or last label.
    let below = value.strip_prefix("*.").or_else(|| value.strip_prefix('.'));
    let inner = below.or_else(|| value.strip_suffix(".*")).unwrap_or(value);
    let is_open = inner.len() < value.len();
    if value == "_"
        || inner.parse::<IpAddr>().is_ok()
        || (is_host(inner) && !(is_open && inner.ends_with('.')))
    {
        return Ok(());
    }
    if let Some(form) = form_in_dns(value) {
        return Err(format!(
            "wordpress: {source} \"{value}\" contains non-ASCII characters; browsers send its DNS form, so write {form}"
        ));
    }
    Err(format!(
        "wordpress: {source} \"{value}\" is not a valid host name; write it as in example.com, *.example.com or .example.com"
    ))
}

/// Returns the DNS name for a name with non-ASCII letters; `None` for other names, or if it has none.
fn form_in_dns(value: &str) -> Option<String> {
    let form = (!value.is_ascii()).then(|| ascii_form(value)).flatten()?;
    let inner = form.strip_prefix("*.").or_else(|| form.strip_prefix('.')).unwrap_or(&form);
    is_host(inner.strip_suffix(".*").unwrap_or(inner)).then_some(form)
}

/// Checks the email address for messages of an ACME authority, with or without `mailto:`.
pub(super) fn email(value: &str) -> Result<(), String> {
    let address = value.strip_prefix("mailto:").unwrap_or(value);
    let is_local = |local: &str| !local.is_empty() && local.bytes().all(|byte| byte.is_ascii_graphic());
    match address.rsplit_once('@') {
        Some((local, host)) if is_local(local) && !local.contains(['@', ',']) && is_host(host) => Ok(()),
        _ => Err(format!(
            "wordpress: --email \"{value}\" is not a valid address; write it as in admin@example.com"
        )),
    }
}

/// Checks the directory URL of an ACME authority, which must be an https URL.
pub(super) fn directory(value: &str) -> Result<(), String> {
    if myriad_tls::acme_client::https::is_url(value) {
        return Ok(());
    }
    Err(format!(
        "wordpress: --acme-directory \"{value}\" is not an https URL; write it as in {}",
        LETS_ENCRYPT.1
    ))
}

/// Checks the file with CA certificates by which the server of an ACME authority is verified: it must be readable and
/// contain a certificate in PEM.
pub(super) fn authority(path: &Path) -> Result<(), String> {
    let refuse = |why: &str| {
        format!(
            "wordpress: --acme-ca {}: {why}; give a PEM file with the CA certificates that verify the authority's server",
            path.display()
        )
    };
    let text = std::fs::read(path).map_err(|error| refuse(&error.to_string()))?;
    if pem::certificates(&text).flatten().next().is_none() {
        Err(refuse("the file contains no certificate"))
    } else {
        Ok(())
    }
}

/// Checks an argument of `listen`: its address must have exactly one port, or be a Unix socket. The words after the
/// address are checked later, with the directive.
pub(super) fn listen(option: &str, value: &str) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("wordpress: {option} \"{value}\": {why}; {ADDRESSES}"));
    let address = value.split(' ').next().unwrap_or_default();
    match listen_addresses(address.as_bytes()).as_deref() {
        Ok([ListenAddress::Host(..)]) if !address.contains(':') => refuse("no port"),
        Ok([_]) => Ok(()),
        Ok(_) => refuse("more than one port"),
        Err(bad) => refuse(&bad.to_string()),
    }
}

/// Returns whether the text is a host name (RFC 1123 section 2.1). Underscores are accepted, as in DNS; a last label
/// that consists of digits is not.
fn is_host(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    // If the last label has only digits, the text is an invalid address.
    let ends_well =
        name.rsplit('.').next().is_some_and(|last| !last.bytes().all(|byte| byte.is_ascii_digit()));
    name.len() <= LONGEST_NAME && ends_well && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_no_value_of_another() {
        assert_eq!(option_value("--domain", Some("a.test".into()), false).as_deref(), Ok("a.test"));
        assert!(
            option_value("--domain", Some("-t".into()), false)
                .expect_err("option")
                .contains("\"-t\" is another")
        );
        assert_eq!(option_value("--prefix", Some("-x".into()), true).as_deref(), Ok("-x"));
        for absent in [None, Some(String::new())] {
            assert!(
                option_value("--email", absent, true).expect_err("absent").contains("\"--email\" requires")
            );
        }
    }

    #[test]
    fn names_are_added_once_however_they_are_written() {
        let mut names = Vec::new();
        for list in ["a.test,A.TEST", "a.test.", "b.test. [::1]", "::1", ".c.test.", "."] {
            add_names(&mut names, list);
        }
        assert_eq!(names, ["a.test", "b.test", "::1", ".c.test", "."]);
        refused(domain("--domain", "."), "--domain", "as in example.com");
        assert_eq!(domain("--domain", "::1"), Ok(()));
    }

    /// Asserts that a value is rejected with the name of its option and a remedy.
    fn refused(checked: Result<(), String>, option: &str, remedy: &str) {
        let error = checked.expect_err(option);
        assert!(error.contains(&format!("{option} ")) && error.contains(remedy), "{error}");
    }

    #[test]
    fn domains_are_names_that_a_certificate_can_be_issued_for() {
        for good in [
            "example.com",
            ".example.com",
            "a-b.example.co.uk",
            "xn--bcher-kva.test",
            "192.0.2.1",
            "localhost",
        ] {
            assert_eq!(domain("--domain", good), Ok(()), "{good}");
        }
        refused(domain("--domain", "*.example.com"), "--domain", ".example.com");
        refused(domain("--domain", "bücher.test"), "--domain", "write its DNS form: xn--bcher-kva.test");
        let long = "a".repeat(64) + ".test";
        for bad in [
            "https://example.com",
            "example.com/",
            "a..b",
            "-a.test",
            "a b",
            "1.2.3",
            "256.1.1.1",
            &long,
            ".",
        ] {
            refused(domain("--domain", bad), "--domain", "as in example.com");
        }
    }

    #[test]
    fn names_may_be_wildcards() {
        for good in ["_", "example.com", "*.example.com", ".example.com", "www.example.*", "192.0.2.1"] {
            assert_eq!(name("--name", good), Ok(()), "{good}");
        }
        for bad in ["http://example.com", "a..b", "exa mple", "-t", "*.x.*", ".x.*", "*.x.", "x.*."] {
            refused(name("--name", bad), "--name", "*.example.com");
        }
        for (bad, form) in [
            ("bücher.example", "xn--bcher-kva.example"),
            ("*.bücher.example", "*.xn--bcher-kva.example"),
            (".Пример.рф", ".xn--e1afmkfd.xn--p1ai"),
        ] {
            refused(name("--name", bad), "--name", &format!("so write {form}"));
        }
        refused(name("--name", "bü cher.example"), "--name", "is not a valid host name");
    }

    #[test]
    fn email_addresses_and_acme_directories_are_validated() {
        for good in ["admin@example.com", "mailto:a.b+c@example.com"] {
            assert_eq!(email(good), Ok(()), "{good}");
        }
        for bad in ["admin", "@example.com", "admin@", "a@b@c.test", "admin@exa mple.com", "a,b@c.test"] {
            refused(email(bad), "--email", "admin@example.com");
        }
        for good in ["https://acme.test/dir", "HTTPS://127.0.0.1:14000/dir", "https://[::1]:14000/dir"] {
            assert_eq!(directory(good), Ok(()), "{good}");
        }
        for bad in [
            "http://acme.test/",
            "acme.test",
            "https://",
            "https:///dir",
            "https://a:0/",
            "https://a b/",
            "é",
        ] {
            refused(directory(bad), "--acme-directory", "https://acme-v02");
        }
        refused(authority(Path::new("/nowhere.pem")), "--acme-ca", "PEM file");
        refused(authority(Path::new("/etc/passwd")), "--acme-ca", "no certificate");
    }

    #[test]
    fn listening_takes_addresses_and_ports_that_there_are() {
        for good in [
            "443",
            "127.0.0.1:8443",
            "[::1]:443",
            "*:443",
            "unix:/run/x.sock",
            "443 reuseport",
            "a.test:80",
            "[::]",
        ] {
            assert_eq!(listen("--listen", good), Ok(()), "{good}");
        }
        for bad in [
            "0",
            "65536",
            "99999999999",
            "127.0.0.1:",
            "127.0.0.1:0",
            "::1:443",
            "a.test",
            "8000-8010",
            "unix:",
            "80x",
            "",
            "[::1:80",
        ] {
            refused(listen("--https-listen", bad), "--https-listen", "1 to 65535");
        }
    }
}
