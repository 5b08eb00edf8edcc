//! `ssl_*`, implemented with rustls.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, TWO, at_least, between, set};
use crate::diagnostic::Diagnostic;
use crate::settings::{AskOcsp, CertificateCache, OcspCache, SessionCache, Settings, VerifyClient};

const HS: Contexts = Contexts::HTTP_SERVER;
/// Servers of HTTP and `stream`.
const ANY: Contexts = HS.or(Contexts::STREAM_LEVELS);
/// Sessions per megabyte, as in nginx.
const SESSIONS_PER_MEGABYTE: u64 = 4000;
/// Memory per cached OCSP response about a client's certificate, in bytes: a key of about 80, the rest is map overhead.
const OCSP_ANSWER: u64 = 256;
/// Minimum size of a zone, as in nginx with pages of 4 KB.
const SMALLEST_OCSP_CACHE: u64 = 32 << 10;
/// Default number of sessions of `builtin`, as in OpenSSL.
const BUILTIN_SESSIONS: u32 = 20_480;
const STAPLING: &str = "answers are asked for at the start and ahead of their end, not by the first handshake, and hold over a reload";

pub(super) static ROWS: &[Directive] = &[
    Directive::new("ssl", HS, FLAG, Set::Settings(on), "Whether every `listen` of a server speaks TLS.")
        // Not a parsed default: writing the directive causes a warning.
        .computed("off")
        .differs("nginx has had it until 1.25; it is taken with a warning, as there"),
    Directive::new(
        "ssl_certificate",
        ANY,
        ONE,
        Set::Settings(certificate),
        "A file with a certificate and its chain, in PEM.",
    )
    .repeats()
    .differs("`engine:` and `store:` are refused; what `data:` holds is remembered"),
    Directive::new(
        "ssl_certificate_key",
        ANY,
        ONE,
        Set::Settings(key),
        "The file with the certificate's key, in PEM.",
    )
    .repeats()
    .differs("`engine:` and `store:` are refused"),
    Directive::new(
        "ssl_password_file",
        ANY,
        ONE,
        set!(Settings.text => Some tls.password_file),
        "Passwords of encrypted keys, a line each.",
    ),
    Directive::new("ssl_protocols", ANY, at_least(1), Set::Settings(protocols), "Versions of TLS.")
        .repeats()
        .default("TLSv1.2 TLSv1.3")
        .differs("what is older than TLSv1.2 is never spoken, with a warning"),
    Directive::new("ssl_ciphers", ANY, ONE, set!(Settings.text => Some tls.ciphers), "Suites for TLS 1.2.")
        .computed("all that are spoken")
        .differs(
            "of what the list names, the suites with forward secrecy and authenticated encryption are used",
        ),
    Directive::new(
        "ssl_prefer_server_ciphers",
        ANY,
        FLAG,
        set!(Settings.flag => Some tls.prefer_server_ciphers),
        "Whether the server's order of suites wins.",
    )
    .computed("on for suites, off for certificates")
    .differs("where nothing is written it does for suites, and AES-128 comes first, for its hash is the cheaper one"),
    Directive::new("ssl_ecdh_curve", ANY, ONE, Set::Settings(curves), "Key exchange groups, the best first.")
        .default("auto"),
    Directive::new(
        "ssl_session_cache",
        ANY,
        at_least(1),
        Set::Settings(session_cache),
        "Where sessions are kept for clients that come back.",
    )
    .repeats()
    .default("none")
    .differs("`builtin` is shared by all workers too, and every cache holds over a reload"),
    Directive::new(
        "ssl_session_timeout",
        ANY,
        ONE,
        set!(Settings.millis => tls.session_timeout),
        "How long a session may be resumed.",
    )
    .default("5m"),
    Directive::new(
        "ssl_session_tickets",
        ANY,
        FLAG,
        set!(Settings.flag => tls.session_tickets),
        "Whether clients keep their sessions themselves.",
    )
    .default("on"),
    Directive::new(
        "ssl_buffer_size",
        HS,
        ONE,
        Set::Settings(buffer_size),
        "The largest record that is sent.",
    )
    .computed("from a packet up to `16k`")
    .differs("where nothing is written, records begin with the size of a packet and grow, so that the first bytes need not wait"),
    Directive::new(
        "ssl_reject_handshake",
        ANY,
        FLAG,
        set!(Settings.flag => tls.reject_handshake),
        "Refuses clients that ask for this server.",
    )
    .default("off"),
    Directive::new(
        "ssl_dhparam",
        ANY,
        ONE,
        set!(Settings.text => Some tls.dhparam),
        "Parameters of finite field key exchange.",
    )
    .no_effect("suites with DHE are not offered"),
    Directive::new("ssl_stapling", HS, FLAG, set!(Settings.flag => tls.stapling), "Whether OCSP answers are stapled.")
        .default("off")
        .differs(STAPLING),
    Directive::new("ssl_stapling_file", HS, ONE, set!(Settings.text => Some tls.stapling_file), "An OCSP answer in DER.")
        .differs("it belongs to the first certificate"),
    Directive::new(
        "ssl_stapling_responder",
        HS,
        ONE,
        set!(Settings.text => Some tls.stapling_responder),
        "Whom to ask for an OCSP answer, in place of whom the certificate names.",
    ),
    Directive::new(
        "ssl_stapling_verify",
        HS,
        FLAG,
        set!(Settings.flag => tls.stapling_verify),
        "Whether an OCSP answer counts only by the issuer, or whom that made a responder.",
    )
    .default("off")
    .differs("the issuer need not be trusted itself"),
    Directive::new("ssl_early_data", HS, FLAG, set!(Settings.flag => tls.early_data), "Whether 0-RTT data are taken.")
        .default("off")
        .differs(
            "a session's early data are taken once, whoever replays them; requests in them that are not safe are answered \
             with 425, over QUIC they wait for the handshake; sessions are kept here rather than in tickets",
        ),
    Directive::new("ssl_verify_client", ANY, ONE, Set::Settings(verify_client), "Whether clients show a certificate.")
        .default("off"),
    Directive::new(
        "ssl_verify_depth",
        ANY,
        ONE,
        set!(Settings.count => tls.verify_depth),
        "How many authorities may stand between a client and a root.",
    )
    .default("1"),
    Directive::new(
        "ssl_client_certificate",
        ANY,
        ONE,
        set!(Settings.text => Some tls.client_certificate),
        "Authorities of clients' certificates, in PEM; clients are told their names.",
    ),
    Directive::new(
        "ssl_trusted_certificate",
        ANY,
        ONE,
        set!(Settings.text => Some tls.trusted_certificate),
        "Authorities that clients are not told of.",
    ),
    Directive::new(
        "ssl_crl",
        ANY,
        ONE,
        set!(Settings.text => Some tls.crl),
        "Lists of clients' certificates that were revoked, in PEM.",
    ),
    Directive::new(
        "ssl_ocsp",
        ANY,
        ONE,
        Set::Settings(ocsp),
        "Whether authorities are asked by OCSP if they have taken a client's certificate back: of the whole chain, or of the `leaf`.",
    )
    .default("off")
    .differs(
        "asked before the first request of a connection, within 10 seconds for each certificate; without `resolver` the system looks names up;          an answer that ends while the connection lasts is asked for anew",
    ),
    Directive::new(
        "ssl_ocsp_responder",
        ANY,
        ONE,
        Set::Settings(ocsp_responder),
        "Whom to ask about clients' certificates, in place of whom the certificates name: a URL of plain HTTP.",
    ),
    Directive::new(
        "ssl_ocsp_cache",
        ANY,
        ONE,
        Set::Settings(ocsp_cache),
        "Where the answers about clients' certificates are kept until they end, for all workers.",
    )
    .default("off"),
    Directive::new(
        "ssl_session_ticket_key",
        ANY,
        ONE,
        Set::Settings(ticket_key),
        "A file of 48 or 80 random bytes that seals tickets; the first seals, all open.",
    )
    .repeats()
    .differs("tickets are sealed by AES-256-GCM under a key that follows from the file's bytes"),
    Directive::new(
        "ssl_certificate_compression",
        ANY,
        FLAG,
        set!(Settings.flag => tls.certificate_compression),
        "Whether certificates are sent compressed (RFC 8879).",
    )
    .default("off")
    .differs("by brotli too"),
    Directive::new(
        "ssl_certificate_cache",
        ANY,
        between(1, 3),
        Set::Settings(certificate_cache),
        "Remembers certificates that variables name.",
    )
    .default("off"),
    Directive::new(
        "ssl_object_cache_inheritable",
        Contexts::MAIN,
        FLAG,
        Set::Nothing,
        "Whether certificates that were read are kept over a reload.",
    )
    .default("on")
    .no_effect("files of certificates and keys are read again at every reload"),
    Directive::new("ssl_conf_command", ANY, TWO, Set::Settings(command), "A setting of OpenSSL.")
        .repeats()
        .differs(
            "`Options`, `MinProtocol`, `MaxProtocol`, `Protocol`, `Certificate`, `PrivateKey`, `Ciphersuites`, `Ciphers`, `CipherString`, `Groups` and `Curves` are known; others are refused. Options change tickets, whose order of ciphers counts, and compression of certificates; `KTLS` and its like have no effect",
        ),
];

fn on(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.tls.on = args.flag(0)?;
    let message = "the \"ssl\" directive is deprecated, use the \"listen ... ssl\" directive instead";
    args.warn(0, message);
    Ok(())
}

/// Returns the argument, or an error for values that start with `engine:` or `store:`.
fn file(args: &Arguments<'_>) -> Result<crate::text::Text, Diagnostic> {
    let text = args.text(0)?;
    for scheme in ["engine:", "store:"] {
        if text.bytes().starts_with(scheme.as_bytes()) {
            return Err(args.error(0, format!("\"{scheme}\" is not supported: name a file")));
        }
    }
    Ok(text)
}

fn certificate(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let file = file(args)?;
    args.start(&mut settings.tls.certificates);
    settings.tls.certificates.push(file);
    Ok(())
}

fn key(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let file = file(args)?;
    args.start(&mut settings.tls.keys);
    settings.tls.keys.push(file);
    Ok(())
}

fn protocols(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    (settings.tls.tls12, settings.tls.tls13) = versions(args, (settings.tls.tls12, settings.tls.tls13))?;
    Ok(())
}

/// Returns whether TLS 1.2 and TLS 1.3 are enabled by this directive, or by an earlier directive of this level
/// (`before`).
pub(super) fn versions(args: &mut Arguments<'_>, before: (bool, bool)) -> Result<(bool, bool), Diagnostic> {
    let words = [("SSLv2", 0), ("SSLv3", 0), ("TLSv1", 0), ("TLSv1.1", 0), ("TLSv1.2", 2), ("TLSv1.3", 3)];
    let (mut tls12, mut tls13) = if args.first { (false, false) } else { before };
    for index in 0..args.len() {
        match args.choice(index, &words)? {
            2 => tls12 = true,
            3 => tls13 = true,
            _ => {
                let name = String::from_utf8_lossy(args.bytes(index)).into_owned();
                args.warn(index, format!("{name} is broken and never spoken"));
            }
        }
    }
    if tls12 || tls13 { Ok((tls12, tls13)) } else { Err(args.invalid(0, "TLSv1.2, TLSv1.3 or both")) }
}

/// Parses `off`, or `max=N` with `inactive=` and `valid=`.
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

fn curves(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let text = args.text(0)?;
    settings.tls.curves = (text.bytes() != b"auto").then_some(text);
    Ok(())
}

fn buffer_size(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.tls.buffer_size = Some(args.size(0)?);
    if settings.tls.buffer_size == Some(0) { Err(args.invalid(0, "at least 1")) } else { Ok(()) }
}

fn verify_client(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let words = [
        ("off", VerifyClient::Off),
        ("on", VerifyClient::On),
        ("optional", VerifyClient::Optional),
        ("optional_no_ca", VerifyClient::OptionalNoCa),
    ];
    settings.tls.verify_client = args.choice(0, &words)?;
    Ok(())
}

fn ocsp(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let words = [("off", AskOcsp::Off), ("on", AskOcsp::Chain), ("leaf", AskOcsp::Leaf)];
    settings.tls.ocsp = args.choice(0, &words)?;
    Ok(())
}

fn ocsp_responder(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let url = args.text(0)?;
    if url.has_variables() || !url.bytes().starts_with(b"http://") {
        return Err(args.invalid(0, "a URL that begins with http://"));
    }
    settings.tls.ocsp_responder = Some(url);
    Ok(())
}

fn ocsp_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
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

fn ticket_key(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let file = args.text(0)?;
    args.start(&mut settings.tls.ticket_keys);
    settings.tls.ticket_keys.push(file);
    Ok(())
}

fn certificate_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.tls.certificate_cache = cache_of_certificates(args)?;
    Ok(())
}

fn command(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut settings.tls.commands);
    settings.tls.commands.push((args.text(0)?, args.text(1)?));
    Ok(())
}

fn session_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
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
                (name, u32::try_from((bytes * SESSIONS_PER_MEGABYTE) >> 20).unwrap_or(u32::MAX).max(1))
            }
            _ => return Err(args.invalid(index, "off, none, builtin[:sessions] or shared:name:size")),
        };
        // If both are set, the shared cache is used: it is shared by all workers of nginx.
        if sessions > 0 {
            cache = SessionCache::Kept { name: name.to_owned(), sessions };
        }
    }
    settings.tls.session_cache = cache;
    Ok(())
}
