//! `ssl_*`, by rustls.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, at_least, set};
use crate::diagnostic::Diagnostic;
use crate::settings::{CertificateCache, SessionCache, Settings};

const HS: Contexts = Contexts::HTTP_SERVER;
/// Sessions in a megabyte, as nginx counts them.
const SESSIONS_PER_MEGABYTE: u64 = 4000;
/// What `builtin` keeps where no number is given, as OpenSSL does.
const BUILTIN_SESSIONS: u32 = 20_480;
const STAPLING: &str = "no OCSP answer is fetched or sent: most authorities have ended OCSP";

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "ssl_certificate",
        HS,
        ONE,
        Set::Settings(certificate),
        "A file with a certificate and its chain, in PEM.",
    )
    .repeats()
    .differs("names with variables, `data:` and `engine:` are refused"),
    Directive::new(
        "ssl_certificate_key",
        HS,
        ONE,
        Set::Settings(key),
        "The file with the certificate's key, in PEM.",
    )
    .repeats()
    .differs("names with variables, `data:` and `engine:` are refused"),
    Directive::new(
        "ssl_password_file",
        HS,
        ONE,
        set!(Settings.text => Some tls.password_file),
        "Passwords of encrypted keys, a line each.",
    ),
    Directive::new("ssl_protocols", HS, at_least(1), Set::Settings(protocols), "Versions of TLS.")
        .default("TLSv1.2 TLSv1.3")
        .differs("what is older than TLSv1.2 is never spoken, with a warning"),
    Directive::new("ssl_ciphers", HS, ONE, set!(Settings.text => Some tls.ciphers), "Suites for TLS 1.2.")
        .default("HIGH:!aNULL:!MD5")
        .differs(
            "of what the list names, the suites with forward secrecy and authenticated encryption are used",
        ),
    Directive::new(
        "ssl_prefer_server_ciphers",
        HS,
        FLAG,
        set!(Settings.flag => tls.prefer_server_ciphers),
        "Whether the server's order of suites wins.",
    )
    .default("off"),
    Directive::new("ssl_ecdh_curve", HS, ONE, Set::Settings(curves), "Key exchange groups, the best first.")
        .default("auto"),
    Directive::new(
        "ssl_session_cache",
        HS,
        at_least(1),
        Set::Settings(session_cache),
        "Where sessions are kept for clients that come back.",
    )
    .default("none")
    .differs("`builtin` is shared by all workers too"),
    Directive::new(
        "ssl_session_timeout",
        HS,
        ONE,
        set!(Settings.millis => tls.session_timeout),
        "How long a session may be resumed.",
    )
    .default("5m")
    .differs("tickets hold for up to two times as long as their key, six hours"),
    Directive::new(
        "ssl_session_tickets",
        HS,
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
    .default("16k"),
    Directive::new(
        "ssl_reject_handshake",
        HS,
        FLAG,
        set!(Settings.flag => tls.reject_handshake),
        "Refuses clients that ask for this server.",
    )
    .default("off"),
    Directive::new("ssl_dhparam", HS, ONE, Set::Nothing, "Parameters of finite field key exchange.")
        .no_effect("suites with DHE are not offered"),
    Directive::new("ssl_stapling", HS, FLAG, Set::Nothing, "Whether OCSP answers are stapled.")
        .no_effect(STAPLING),
    Directive::new("ssl_stapling_file", HS, ONE, Set::Nothing, "An OCSP answer.").no_effect(STAPLING),
    Directive::new("ssl_stapling_responder", HS, ONE, Set::Nothing, "Whom to ask for it.")
        .no_effect(STAPLING),
    Directive::new("ssl_stapling_verify", HS, FLAG, Set::Nothing, "Whether it is checked.")
        .no_effect(STAPLING),
    Directive::new(
        "ssl_early_data",
        HS,
        FLAG,
        set!(Settings.flag => tls.early_data),
        "Whether 0-RTT data are taken.",
    )
    .default("off")
    .differs("over QUIC only, and of each session once; what is not safe to repeat waits for the handshake"),
    Directive::new(
        "ssl_trusted_certificate",
        HS,
        ONE,
        Set::Nothing,
        "Authorities that are not named to clients.",
    )
    .no_effect("it serves OCSP answers and clients' certificates, which are not asked for yet"),
];

/// A plain file: what names no file is refused with the reason.
fn file(args: &Arguments<'_>) -> Result<crate::text::Text, Diagnostic> {
    let text = args.text(0)?;
    let named = text.bytes();
    if crate::build::acme::VARIABLES.contains(&named) {
        return Ok(text);
    }
    if named.contains(&b'$') {
        return Err(args.error(0, "certificates and keys named by variables are not supported yet"));
    }
    for scheme in ["data:", "engine:", "store:"] {
        if named.starts_with(scheme.as_bytes()) {
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
    (settings.tls.tls12, settings.tls.tls13) = versions(args)?;
    Ok(())
}

/// Whether TLS 1.2 and TLS 1.3 are named.
pub(super) fn versions(args: &mut Arguments<'_>) -> Result<(bool, bool), Diagnostic> {
    let words = [("SSLv2", 0), ("SSLv3", 0), ("TLSv1", 0), ("TLSv1.1", 0), ("TLSv1.2", 2), ("TLSv1.3", 3)];
    let (mut tls12, mut tls13) = (false, false);
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

/// `off`, or `max=N` with `inactive=` and `valid=`.
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
    settings.tls.buffer_size = args.size(0)?;
    if settings.tls.buffer_size == 0 { Err(args.invalid(0, "at least 1")) } else { Ok(()) }
}

fn session_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let mut kept = 0;
    for index in 0..args.len() {
        let word = String::from_utf8_lossy(args.bytes(index)).into_owned();
        let parts: Vec<&str> = word.split(':').collect();
        kept = kept.max(match parts[..] {
            ["off" | "none"] => 0,
            ["builtin"] => BUILTIN_SESSIONS,
            ["builtin", _] => args.small(index, "builtin:".len())?,
            ["shared", name, _] if !name.is_empty() => {
                let bytes = args.size_after(index, "shared::".len() + name.len())?;
                u32::try_from((bytes * SESSIONS_PER_MEGABYTE) >> 20).unwrap_or(u32::MAX).max(1)
            }
            _ => return Err(args.invalid(index, "off, none, builtin[:sessions] or shared:name:size")),
        });
    }
    settings.tls.session_cache = if kept == 0 { SessionCache::Off } else { SessionCache::Kept(kept) };
    Ok(())
}
