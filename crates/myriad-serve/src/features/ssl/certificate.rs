//! Variables of the client certificate.

use std::fmt::Write;

use myriad_base::calendar::show_x509_time;
use myriad_tls::x509::Certificate;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::text;
use myriad_exchange::runtime::Reads::Connection;
use myriad_exchange::runtime::RowValue::Made;

const DAY_S: i64 = 86_400;

/// Defines a variable whose value is computed from the client certificate.
macro_rules! row {
    ($name:literal, |$certificate:ident| $read:expr) => {
        RequestVariable::new(
            "ssl",
            $name,
            &[Connection],
            Made(|request, out| text(out, certificate_value(request, $name, |$certificate| $read))),
        )
    };
}

pub(crate) const ROWS: &[RequestVariable] = &[
    // PEM, with a tab before each line except the first.
    row!("ssl_client_cert", |certificate| certificate.pem().trim_end().replace('\n', "\n\t")),
    row!("ssl_client_raw_cert", |certificate| certificate.pem()),
    row!("ssl_client_escaped_cert", |certificate| escaped(&certificate.pem())),
    row!("ssl_client_s_dn", |certificate| certificate.subject.rfc2253()),
    row!("ssl_client_i_dn", |certificate| certificate.issuer.rfc2253()),
    row!("ssl_client_s_dn_legacy", |certificate| certificate.subject.legacy()),
    row!("ssl_client_i_dn_legacy", |certificate| certificate.issuer.legacy()),
    row!("ssl_client_serial", |certificate| certificate.serial_hex()),
    row!("ssl_client_fingerprint", |certificate| certificate.fingerprint()),
    row!("ssl_client_v_start", |certificate| show_x509_time(certificate.not_before)),
    row!("ssl_client_v_end", |certificate| show_x509_time(certificate.not_after)),
    RequestVariable::new(
        "ssl",
        "ssl_client_v_remain",
        &[Connection],
        Made(|request, out| text(out, days_remaining(request))),
    ),
];

/// Returns a value that `read` computes from the client certificate: empty if the certificate cannot be parsed, `None`
/// without a certificate. Values are cached per connection by the variable's name.
fn certificate_value(
    request: &Request,
    name: &'static str,
    read: fn(&Certificate<'_>) -> String,
) -> Option<String> {
    let facts = request.received.connection.tls()?;
    let der = facts.certificates.first()?;
    let made = || Certificate::parse(der).map_or_else(|_| String::new(), |certificate| read(&certificate));
    Some(facts.readings.with(name, made, str::to_owned))
}

/// Returns the number of whole days until the client certificate expires; 0 if it has expired, an empty text if it
/// cannot be parsed, `None` without a certificate.
fn days_remaining(request: &Request) -> Option<String> {
    let not_after =
        certificate_value(request, "ssl_client_v_remain", |certificate| certificate.not_after.to_string())?;
    let Ok(not_after) = not_after.parse::<i64>() else { return Some(not_after) };
    let now_s = (myriad_net::clock::wall_ms() / 1000) as i64;
    Some(((not_after - now_s).max(0) / DAY_S).to_string())
}

/// Percent-encodes the text, except the unreserved characters of RFC 3986 section 2.3.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_escaped_as_a_part_of_a_query() {
        assert_eq!(escaped("-----A b+/=\n~"), "-----A%20b%2B%2F%3D%0A~");
    }
}
