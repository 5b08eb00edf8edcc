//! TLS settings for HTTP/3 (`http3*`, `quic_*`).

use myriad_conf::Diagnostic;
use myriad_conf::settings::Http3Settings;
use rustls::ServerConfig;

use crate::certificates::files::{TlsFileReader, display_name, file_error};

/// Value of `max_early_data_size` that enables early data in QUIC; the only permitted value besides 0 (RFC 9001 section
/// 4.6.1).
const UNLIMITED: u32 = u32::MAX;

/// Returns a copy of a server's TLS settings for HTTP/3. `early_data` allows requests in early data (0-RTT).
pub fn quic_config(config: &ServerConfig, early_data: bool) -> ServerConfig {
    let mut own = config.clone();
    own.alpn_protocols = vec![b"h3".to_vec()];
    own.max_fragment_size = None;
    // Early data cannot be replayed: sessions are stored on the server and removed at their first use (RFC 8446 section
    // 8.1).
    own.max_early_data_size = if early_data { UNLIMITED } else { 0 };
    own
}

/// Returns the contents of the `quic_host_key` file; `None` if the directive is not set.
///
/// # Errors
///
/// The file cannot be read or is empty.
pub fn host_key(
    http3: &Http3Settings,
    files: TlsFileReader<'_>,
) -> Result<Option<Box<[u8]>>, Box<Diagnostic>> {
    let Some(name) = &http3.host_key else { return Ok(None) };
    let bytes = files.bytes(name)?;
    if bytes.is_empty() {
        let error = file_error(name, format!("the key file \"{}\" is empty", display_name(name.bytes())));
        return Err(Box::new(error.help("create it with: openssl rand -out FILE 32")));
    }
    Ok(Some(bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSite;

    #[test]
    fn quic_speaks_http3_alone_and_sizes_no_records() {
        let site = TestSite::server("ssl_buffer_size 4k; ssl_early_data on;", &[]);
        let config = site.config().unwrap();
        for (early_data, most) in [(true, UNLIMITED), (false, 0)] {
            let own = quic_config(&config, early_data);
            assert_eq!(own.alpn_protocols, [b"h3"]);
            assert_eq!((own.max_fragment_size, own.max_early_data_size), (None, most));
        }
        assert!(config.max_fragment_size.is_some(), "that of TCP is another");
    }

    #[test]
    fn host_key_is_what_its_file_holds_and_an_empty_one_is_refused() {
        let key = |says: &str| {
            let site = TestSite::server(says, &[("quic.key", b"bytes"), ("empty.key", b"")]);
            host_key(&site.first().settings.http3, site.files()).map_err(|error| error.message)
        };
        assert_eq!(key(""), Ok(None));
        assert_eq!(key("quic_host_key quic.key;"), Ok(Some(b"bytes"[..].into())));
        assert_eq!(key("quic_host_key empty.key;"), Err("the key file \"empty.key\" is empty".to_owned()));
        assert_eq!(key("quic_host_key none.key;"), Err("cannot read \"/conf/none.key\"".to_owned()));
    }
}
