//! Directives for TLS connections of clients (`ssl_*`), implemented with rustls.

use super::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, TWO, at_least, between, set};
use crate::diagnostic::Diagnostic;
use crate::settings::{CertificateCache, OcspCache, OcspCheck, SessionCache, Settings, VerifyClient};

const HS: Contexts = Contexts::HTTP_SERVER;
/// Contexts of TLS directives for servers of both `http` and `stream`.
const ANY: Contexts = HS.or(Contexts::STREAM_LEVELS);
/// Number of sessions per megabyte of `ssl_session_cache`, as in nginx.
const SESSIONS_PER_MEGABYTE: u64 = 4000;
/// Estimated memory per OCSP response in `ssl_ocsp_cache`, in bytes.
const OCSP_ANSWER: u64 = 256;
/// Minimum size of `ssl_ocsp_cache`, in bytes: 8 pages of 4 KB, as in nginx.
const SMALLEST_OCSP_CACHE: u64 = 32 << 10;
/// Default number of sessions of `ssl_session_cache builtin`, as in OpenSSL.
const BUILTIN_SESSIONS: u32 = 20_480;
const STAPLING: &str = "responses are fetched at startup and before they expire, not at the first handshake, and persist over a reload";

pub(super) static ROWS: &[Directive] = &[
    Directive::new("ssl", HS, FLAG, Set::Settings(on), "Enables TLS on every `listen` of a server.")
        // Not a text default, because setting the directive causes a warning.
        .computed("off")
        .differs("nginx removed it in 1.25; it is accepted with a warning"),
    Directive::new(
        "ssl_certificate",
        ANY,
        ONE,
        Set::Settings(certificate),
        "File with a certificate and its chain, in PEM.",
    )
    .repeats()
    .differs("`engine:` and `store:` are refused; the content of `data:` is cached"),
    Directive::new(
        "ssl_certificate_key",
        ANY,
        ONE,
        Set::Settings(key),
        "File with the private key of the certificate, in PEM.",
    )
    .repeats()
    .differs("`engine:` and `store:` are refused"),
    Directive::new(
        "ssl_password_file",
        ANY,
        ONE,
        set!(Settings.text => Some tls.password_file),
        "File with passwords of encrypted keys, one per line.",
    ),
    Directive::new("ssl_protocols", ANY, at_least(1), Set::Settings(protocols), "TLS versions to enable.")
        .repeats()
        .default("TLSv1.2 TLSv1.3")
        .differs("versions older than TLSv1.2 are never used, and cause a warning"),
    Directive::new("ssl_ciphers", ANY, ONE, set!(Settings.text => Some tls.ciphers), "TLS 1.2 cipher suites.")
        .computed("all supported suites")
        .differs(
            "only listed suites with forward secrecy and authenticated encryption are used",
        ),
    Directive::new(
        "ssl_prefer_server_ciphers",
        ANY,
        FLAG,
        set!(Settings.flag => Some tls.prefer_server_ciphers),
        "Prefers the cipher suite order of the server to that of the client.",
    )
    .computed("on for suites, off for certificates")
    .differs("by default, the order of the server applies to suites, with AES-128 first because its hash is cheaper"),
    Directive::new("ssl_ecdh_curve", ANY, ONE, Set::Settings(curves), "Key exchange groups, in order of preference.")
        .default("auto"),
    Directive::new(
        "ssl_session_cache",
        ANY,
        at_least(1),
        Set::Settings(session_cache),
        "Cache for TLS sessions to resume.",
    )
    .repeats()
    .default("none")
    .differs("`builtin` is also shared by all workers, and every cache persists over a reload"),
    Directive::new(
        "ssl_session_timeout",
        ANY,
        ONE,
        set!(Settings.millis => tls.session_timeout),
        "Maximum time during which a session can be resumed.",
    )
    .default("5m"),
    Directive::new(
        "ssl_session_tickets",
        ANY,
        FLAG,
        set!(Settings.flag => tls.session_tickets),
        "Enables session tickets, which clients store.",
    )
    .default("on"),
    Directive::new(
        "ssl_buffer_size",
        HS,
        ONE,
        Set::Settings(buffer_size),
        "Maximum size of a TLS record.",
    )
    .computed("from the size of a packet up to `16k`")
    .differs("by default, records start at the size of a packet and grow, so that the first bytes arrive early"),
    Directive::new(
        "ssl_reject_handshake",
        ANY,
        FLAG,
        set!(Settings.flag => tls.reject_handshake),
        "Rejects TLS handshakes for this server.",
    )
    .default("off"),
    Directive::new(
        "ssl_dhparam",
        ANY,
        ONE,
        set!(Settings.text => Some tls.dhparam),
        "Parameters of finite-field Diffie-Hellman key exchange.",
    )
    .no_effect("suites with DHE are not offered"),
    Directive::new("ssl_stapling", HS, FLAG, set!(Settings.flag => tls.stapling), "Enables OCSP stapling.")
        .default("off")
        .differs(STAPLING),
    Directive::new("ssl_stapling_file", HS, ONE, set!(Settings.text => Some tls.stapling_file), "File with an OCSP response in DER for `ssl_stapling`.")
        .differs("it applies to the first certificate"),
    Directive::new(
        "ssl_stapling_responder",
        HS,
        ONE,
        set!(Settings.text => Some tls.stapling_responder),
        "URL of the OCSP responder for `ssl_stapling`, instead of the URL in the certificate.",
    ),
    Directive::new(
        "ssl_stapling_verify",
        HS,
        FLAG,
        set!(Settings.flag => tls.stapling_verify),
        "Requires that a fetched OCSP response is signed by the issuer or a responder it has authorized.",
    )
    .default("off")
    .differs("the issuer itself need not be trusted"),
    Directive::new("ssl_early_data", HS, FLAG, set!(Settings.flag => tls.early_data), "Enables TLS 1.3 early data (0-RTT).")
        .default("off")
        .differs(
            "early data of a session is accepted only once, which prevents replays; unsafe requests in early data get 425, \
                 and over QUIC wait for the handshake; sessions are stored on the server instead of in tickets",
        ),
    Directive::new("ssl_verify_client", ANY, ONE, Set::Settings(verify_client), "Enables verification of client certificates.")
        .default("off"),
    Directive::new(
        "ssl_verify_depth",
        ANY,
        ONE,
        set!(Settings.count => tls.verify_depth),
        "Maximum number of intermediate certificates in the chain of a client.",
    )
    .default("1"),
    Directive::new(
        "ssl_client_certificate",
        ANY,
        ONE,
        set!(Settings.text => Some tls.client_certificate),
        "CA certificates for client certificates, in PEM; their names are sent to clients.",
    ),
    Directive::new(
        "ssl_trusted_certificate",
        ANY,
        ONE,
        set!(Settings.text => Some tls.trusted_certificate),
        "CA certificates whose names are not sent to clients.",
    ),
    Directive::new(
        "ssl_crl",
        ANY,
        ONE,
        set!(Settings.text => Some tls.crl),
        "Certificate revocation lists for client certificates, in PEM.",
    ),
    Directive::new(
        "ssl_ocsp",
        ANY,
        ONE,
        Set::Settings(ocsp),
        "Checks client certificates for revocation with OCSP: the whole chain, or only the `leaf`.",
    )
    .default("off")
    .differs(
        "checked before the first request of a connection, within 10 seconds for each certificate; without `resolver`, \
             the system resolver is used; a response that expires during the connection is fetched again",
    ),
    Directive::new(
        "ssl_ocsp_responder",
        ANY,
        ONE,
        Set::Settings(ocsp_responder),
        "URL of the OCSP responder for client certificates, instead of the URLs in the certificates; plain HTTP only.",
    ),
    Directive::new(
        "ssl_ocsp_cache",
        ANY,
        ONE,
        Set::Settings(ocsp_cache),
        "Cache of OCSP responses for client certificates until they expire, shared by all workers.",
    )
    .default("off"),
    Directive::new(
        "ssl_session_ticket_key",
        ANY,
        ONE,
        Set::Settings(ticket_key),
        "File of 48 or 80 random bytes for session tickets; the first file encrypts, all files decrypt.",
    )
    .repeats()
    .differs("tickets are encrypted with AES-256-GCM under a key derived from the file"),
    Directive::new(
        "ssl_certificate_compression",
        ANY,
        FLAG,
        set!(Settings.flag => tls.certificate_compression),
        "Enables certificate compression (RFC 8879).",
    )
    .default("off")
    .differs("Brotli is also supported"),
    Directive::new(
        "ssl_certificate_cache",
        ANY,
        between(1, 3),
        Set::Settings(certificate_cache),
        "Caches certificates whose names contain variables.",
    )
    .default("off"),
    Directive::new(
        "ssl_object_cache_inheritable",
        Contexts::MAIN,
        FLAG,
        Set::Nothing,
        "Preserves loaded certificates over a reload.",
    )
    .default("on")
    .no_effect("certificate and key files are read again at every reload"),
    Directive::new("ssl_conf_command", ANY, TWO, Set::Settings(command), "OpenSSL command.")
        .repeats()
        .differs(
            "`Options`, `MinProtocol`, `MaxProtocol`, `Protocol`, `Certificate`, `PrivateKey`, `Ciphersuites`, `Ciphers`, \
                 `CipherString`, `Groups` and `Curves` are supported; others are refused. Options change tickets, the preferred \
                 cipher order, and compression of certificates; `KTLS` and similar options have no effect",
        ),
];

fn on(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.tls.on = args.flag(0)?;
    let message = "the \"ssl\" directive is deprecated, use the \"listen ... ssl\" directive instead";
    args.warn(0, message);
    Ok(())
}

/// Returns the first argument: a file name, or `data:` and the content of a file. Returns an error for a value that
/// starts with `engine:` or `store:`, which OpenSSL would load.
fn file(args: &Arguments<'_>) -> Result<crate::text::Text, Diagnostic> {
    let text = args.text(0)?;
    for scheme in ["engine:", "store:"] {
        if text.bytes().starts_with(scheme.as_bytes()) {
            return Err(args.error(0, format!("\"{scheme}\" is not supported: use a file")));
        }
    }
    Ok(text)
}

fn certificate(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let file = file(args)?;
    args.start(&mut settings.tls.certificates);
    settings.tls.certificates.push(file);
    Ok(())
}

fn key(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let file = file(args)?;
    args.start(&mut settings.tls.keys);
    settings.tls.keys.push(file);
    Ok(())
}

fn protocols(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    (settings.tls.tls12, settings.tls.tls13) = versions(args, (settings.tls.tls12, settings.tls.tls13))?;
    Ok(())
}

/// Parses the versions of `ssl_protocols` or `*_ssl_protocols`. Returns two flags: TLS 1.2 enabled, TLS 1.3 enabled.
/// The versions are added to those in `before`, unless the directive is the first on its level. Older versions are not
/// enabled and cause a warning. Returns an error for an unknown version, or if neither TLS 1.2 nor TLS 1.3 is enabled.
pub(super) fn versions(args: &mut Arguments<'_>, before: (bool, bool)) -> Result<(bool, bool), Diagnostic> {
    let words = [("SSLv2", 0), ("SSLv3", 0), ("TLSv1", 0), ("TLSv1.1", 0), ("TLSv1.2", 2), ("TLSv1.3", 3)];
    let (mut tls12, mut tls13) = if args.first { (false, false) } else { before };
    for index in 0..args.len() {
        match args.choice(index, &words)? {
            2 => tls12 = true,
            3 => tls13 = true,
            _ => {
                let name = String::from_utf8_lossy(args.bytes(index)).into_owned();
                args.warn(index, format!("{name} is insecure and never used"));
            }
        }
    }
    if tls12 || tls13 { Ok((tls12, tls13)) } else { Err(args.invalid(0, "TLSv1.2, TLSv1.3 or both")) }
}

/// Parses the arguments of `ssl_certificate_cache` or `*_ssl_certificate_cache`: `off` (`None`), or `max=N` above 0
/// with optional `inactive=` and `valid=`. Returns an error for other arguments.
pub(super) fn cache_of_certificates(args: &Arguments<'_>) -> Result<Option<CertificateCache>, Diagnostic> {
    const MUST_BE: &str = "off, or max=number [inactive=time] [valid=time]";
    if args.len() == 1 && args.bytes(0) == b"off" {
        return Ok(None);
    }
    let mut cache = CertificateCache { max: 0, inactive: 10_000, valid: 60_000 };
    for index in 0..args.len() {
        match args.bytes(index) {
            word if word.starts_with(b"max=") => cache.max = args.small(index, "max=".len())?,
            word if word.starts_with(b"inactive=") => {
                cache.inactive = args.millis_after(index, "inactive=".len())?;
            }
            word if word.starts_with(b"valid=") => cache.valid = args.millis_after(index, "valid=".len())?,
            _ => return Err(args.invalid(index, MUST_BE)),
        }
    }
    if cache.max == 0 { Err(args.invalid(0, MUST_BE)) } else { Ok(Some(cache)) }
}

fn curves(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let text = args.text(0)?;
    settings.tls.curves = (text.bytes() != b"auto").then_some(text);
    Ok(())
}

fn buffer_size(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.tls.buffer_size = Some(args.size(0)?);
    if settings.tls.buffer_size == Some(0) { Err(args.invalid(0, "at least 1")) } else { Ok(()) }
}

fn verify_client(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let words = [
        ("off", VerifyClient::Off),
        ("on", VerifyClient::On),
        ("optional", VerifyClient::Optional),
        ("optional_no_ca", VerifyClient::OptionalNoCa),
    ];
    settings.tls.verify_client = args.choice(0, &words)?;
    Ok(())
}

fn ocsp(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let words = [("off", OcspCheck::Off), ("on", OcspCheck::Chain), ("leaf", OcspCheck::Leaf)];
    settings.tls.ocsp = args.choice(0, &words)?;
    Ok(())
}

fn ocsp_responder(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let url = args.text(0)?;
    if url.has_variables() || !url.bytes().starts_with(b"http://") {
        return Err(args.invalid(0, "a URL that starts with http://, without variables"));
    }
    settings.tls.ocsp_responder = Some(url);
    Ok(())
}

fn ocsp_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let word = String::from_utf8_lossy(args.bytes(0)).into_owned();
    let parts: Vec<&str> = word.split(':').collect();
    settings.tls.ocsp_cache = match parts[..] {
        ["off"] => None,
        ["shared", name, _] if !name.is_empty() => {
            let bytes = args.size_after(0, "shared::".len() + name.len())?;
            if bytes < SMALLEST_OCSP_CACHE {
                return Err(args.invalid(0, "at least 32k"));
            }
            let entries = u32::try_from(bytes / OCSP_ANSWER).unwrap_or(u32::MAX);
            Some(OcspCache { name: name.to_owned(), entries })
        }
        _ => return Err(args.invalid(0, "off or shared:name:size")),
    };
    Ok(())
}

fn ticket_key(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let file = args.text(0)?;
    args.start(&mut settings.tls.ticket_keys);
    settings.tls.ticket_keys.push(file);
    Ok(())
}

fn certificate_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.tls.certificate_cache = cache_of_certificates(args)?;
    Ok(())
}

fn command(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut settings.tls.commands);
    settings.tls.commands.push((args.text(0)?, args.text(1)?));
    Ok(())
}

fn session_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut cache = if args.first { SessionCache::Off } else { settings.tls.session_cache.clone() };
    for index in 0..args.len() {
        let word = String::from_utf8_lossy(args.bytes(index)).into_owned();
        let parts: Vec<&str> = word.split(':').collect();
        let (name, sessions) = match parts[..] {
            ["off" | "none"] => continue,
            ["builtin"] => ("builtin", BUILTIN_SESSIONS),
            ["builtin", _] => ("builtin", args.small(index, "builtin:".len())?),
            ["shared", name, _] if !name.is_empty() => {
                let bytes = args.size_after(index, "shared::".len() + name.len())?;
                let sessions = bytes.saturating_mul(SESSIONS_PER_MEGABYTE) >> 20;
                (name, u32::try_from(sessions).unwrap_or(u32::MAX).max(1))
            }
            _ => return Err(args.invalid(index, "off, none, builtin[:sessions] or shared:name:size")),
        };
        // If both `builtin` and `shared` are given, the last applies: here, all workers share every cache.
        if sessions > 0 {
            cache = SessionCache::Stored { name: name.to_owned(), sessions };
        }
    }
    settings.tls.session_cache = cache;
    Ok(())
}
