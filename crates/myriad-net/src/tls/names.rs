//! OpenSSL's names of cipher suites, groups and signature schemes, as in nginx's variables.

use rustls::{CipherSuite, NamedGroup, SignatureScheme};

/// Returns OpenSSL's name of a cipher suite (for TLS 1.3 the IANA name); `0x` and a hexadecimal number if it is
/// unknown.
pub fn cipher(suite: CipherSuite) -> Box<str> {
    let name = match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        // Suites that clients offer and this server does not support.
        other => match u16::from(other) {
            0x002f => "AES128-SHA",
            0x0033 => "DHE-RSA-AES128-SHA",
            0x0035 => "AES256-SHA",
            0x0039 => "DHE-RSA-AES256-SHA",
            0x003c => "AES128-SHA256",
            0x003d => "AES256-SHA256",
            0x0067 => "DHE-RSA-AES128-SHA256",
            0x006b => "DHE-RSA-AES256-SHA256",
            0x009c => "AES128-GCM-SHA256",
            0x009d => "AES256-GCM-SHA384",
            0x009e => "DHE-RSA-AES128-GCM-SHA256",
            0x009f => "DHE-RSA-AES256-GCM-SHA384",
            0xc009 => "ECDHE-ECDSA-AES128-SHA",
            0xc00a => "ECDHE-ECDSA-AES256-SHA",
            0xc013 => "ECDHE-RSA-AES128-SHA",
            0xc014 => "ECDHE-RSA-AES256-SHA",
            0xc023 => "ECDHE-ECDSA-AES128-SHA256",
            0xc024 => "ECDHE-ECDSA-AES256-SHA384",
            0xc027 => "ECDHE-RSA-AES128-SHA256",
            0xc028 => "ECDHE-RSA-AES256-SHA384",
            0xccaa => "DHE-RSA-CHACHA20-POLY1305",
            number => return format!("0x{number:04x}").into(),
        },
    };
    name.into()
}

/// Returns OpenSSL's name of a key exchange group; `0x` and a hexadecimal number if it is unknown.
pub fn group(group: NamedGroup) -> Box<str> {
    let name = match u16::from(group) {
        0x0017 => "prime256v1",
        0x0018 => "secp384r1",
        0x0019 => "secp521r1",
        0x001d => "X25519",
        0x001e => "X448",
        0x0100 => "ffdhe2048",
        0x0101 => "ffdhe3072",
        0x0102 => "ffdhe4096",
        0x0103 => "ffdhe6144",
        0x0104 => "ffdhe8192",
        0x11eb => "SecP256r1MLKEM768",
        0x11ec => "X25519MLKEM768",
        0x11ed => "SecP384r1MLKEM1024",
        number => return format!("0x{number:04x}").into(),
    };
    name.into()
}

/// Returns the name of a signature scheme; `0x` and a hexadecimal number if it is unknown.
pub fn scheme(scheme: SignatureScheme) -> Box<str> {
    let name = match u16::from(scheme) {
        0x0201 => "rsa_pkcs1_sha1",
        0x0203 => "ecdsa_sha1",
        0x0401 => "rsa_pkcs1_sha256",
        0x0403 => "ecdsa_secp256r1_sha256",
        0x0501 => "rsa_pkcs1_sha384",
        0x0503 => "ecdsa_secp384r1_sha384",
        0x0601 => "rsa_pkcs1_sha512",
        0x0603 => "ecdsa_secp521r1_sha512",
        0x0804 => "rsa_pss_rsae_sha256",
        0x0805 => "rsa_pss_rsae_sha384",
        0x0806 => "rsa_pss_rsae_sha512",
        0x0807 => "ed25519",
        0x0808 => "ed448",
        0x0809 => "rsa_pss_pss_sha256",
        0x080a => "rsa_pss_pss_sha384",
        0x080b => "rsa_pss_pss_sha512",
        0x0904 => "mldsa44",
        0x0905 => "mldsa65",
        0x0906 => "mldsa87",
        number => return format!("0x{number:04x}").into(),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_is_shown_as_a_number() {
        assert_eq!(&*cipher(CipherSuite::from(0x1301)), "TLS_AES_128_GCM_SHA256");
        assert_eq!(&*cipher(CipherSuite::from(0x0a0a)), "0x0a0a");
        assert_eq!(&*group(NamedGroup::secp256r1), "prime256v1");
        assert_eq!(&*scheme(SignatureScheme::from(0x0808)), "ed448");
    }
}
