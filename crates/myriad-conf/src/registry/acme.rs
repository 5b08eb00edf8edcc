//! Directives of nginx's module for automatic certificates: `acme_issuer` with the directives in it, and
//! `acme_certificate`.

use super::{
    Arguments, Arity, BlockKind, Contexts, Directive, FLAG, ONE, Set, SetterResult, TWO, at_least, between,
    block, exactly,
};
use crate::{
    diagnostic::Diagnostic,
    model::{
        AccountKeyConf, AcmeCertificateConf, AcmeChallenge, AcmeIssuerConf, AcmeKeyKind, ExternalAccountConf,
        HttpConf, ServerConf,
    },
    number::parse_size,
};

const ISSUER: Contexts = Contexts::ACME_ISSUER;

/// Creates the registry row of a directive inside `acme_issuer`.
const fn inside(
    name: &'static str,
    arity: Arity,
    set: fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> SetterResult,
    doc: &'static str,
) -> Directive {
    Directive::new(name, ISSUER, arity, Set::AcmeIssuer(set), doc)
}

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "acme_issuer",
        Contexts::HTTP,
        block(1, 1),
        Set::Block(BlockKind::AcmeIssuer),
        "Defines an ACME certificate authority.",
    )
    .repeats()
    .differs("without `resolver`, the system resolver is used"),
    inside("uri", ONE, uri, "URL of the ACME directory."),
    inside("account_key", ONE, account_key, "Account key: a key type to generate, or a file.")
        .default("ecdsa:256"),
    inside("challenge", ONE, challenge, "Challenge type for domain validation.").default("http-01"),
    inside(
        "common_name_in_csr",
        FLAG,
        |issuer, args| {
            issuer.common_name_in_csr = args.flag(0)?;
            Ok(())
        },
        "Sets the first identifier as the subject of certificate requests.",
    )
    .default("off"),
    inside("contact", at_least(1), contact, "Contact address for the ACME account.").repeats(),
    inside(
        "external_account_key",
        TWO,
        external_account_key,
        "External account binding: key identifier and key.",
    ),
    inside(
        "preferred_chain",
        ONE,
        |issuer, args| {
            issuer.preferred_chain = Some(args.text(0)?);
            Ok(())
        },
        "Preferred root CA of the certificate chain.",
    ),
    inside("profile", between(1, 2), profile, "Certificate profile to request."),
    inside(
        "ssl_trusted_certificate",
        ONE,
        |issuer, args| {
            issuer.trusted_certificate = Some(args.text(0)?);
            Ok(())
        },
        "CA certificates for verifying the ACME server.",
    ),
    inside(
        "ssl_verify",
        FLAG,
        |issuer, args| {
            issuer.verify = args.flag(0)?;
            Ok(())
        },
        "Enables verification of the ACME server's certificate.",
    )
    .default("on"),
    inside("state_path", ONE, state_path, "Folder for the account key and the certificates.")
        .computed("`acme_NAME`")
        .differs("its owner is the user that starts the server, usually root, not the worker user"),
    inside(
        "accept_terms_of_service",
        exactly(0),
        |issuer, _| {
            issuer.accepts_terms = true;
            Ok(())
        },
        "Accepts the terms of service of the authority.",
    ),
    Directive::new(
        "acme_certificate",
        Contexts::SERVER,
        at_least(1),
        Set::Server(certificate),
        "Obtains and renews a certificate, available as `$acme_certificate` and `$acme_certificate_key`.",
    )
    .differs(
        "the variables are available only in `ssl_certificate` and `ssl_certificate_key`, so that keys cannot leak; \
         `cluster=off` excludes the certificate from a cluster",
    ),
    Directive::new("acme_shared_zone", Contexts::HTTP, ONE, Set::Http(shared_zone), "Shared memory zone for certificates.")
        .default("zone=ngx_acme_shared:256k")
        .no_effect("certificates need no zone of a fixed size: all workers are threads of one process"),
];

fn uri(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    let text = args.text(0)?;
    let is_url = text.value.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https://"))
        && text.value.len() > 8
        && text.value.iter().all(u8::is_ascii_graphic);
    if !is_url {
        return Err(args.invalid(0, "an https URL, such as https://acme-v02.api.letsencrypt.org/directory"));
    }
    issuer.uri = text;
    Ok(())
}

const ECDSA: [&str; 3] = ["256", "384", "521"];
const RSA: [&str; 3] = ["2048", "3072", "4096"];

/// Parses a key type such as `ecdsa` or `rsa:3072`; `None` if the word is another algorithm. An unsupported size is an
/// error.
fn key_kind(args: &Arguments<'_>, index: usize, word: &[u8]) -> Result<Option<AcmeKeyKind>, Diagnostic> {
    let word = String::from_utf8_lossy(word);
    let (algorithm, size) = word.split_once(':').map_or((&*word, None), |(name, size)| (name, Some(size)));
    let (sizes, what) = match algorithm {
        "ecdsa" => (ECDSA, "curve"),
        "rsa" => (RSA, "key size"),
        _ => return Ok(None),
    };
    let kind = AcmeKeyKind::parse(&word);
    if kind.is_none() {
        let size = size.unwrap_or_default();
        let message = format!("unsupported {what} \"{size}\" in \"{}\"", args.directive.name);
        let help = format!("write {}", sizes.map(|size| format!("{algorithm}:{size}")).join(", "));
        return Err(args.error(index, message).help(help));
    }
    Ok(kind)
}

fn account_key(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    issuer.account_key = match key_kind(args, 0, args.bytes(0))? {
        Some(kind) => AccountKeyConf::Kind(kind),
        None => AccountKeyConf::File(args.text(0)?),
    };
    Ok(())
}

fn challenge(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    issuer.challenge = match args.bytes(0) {
        b"http" | b"http-01" => AcmeChallenge::Http01,
        b"tls-alpn" | b"tls-alpn-01" => AcmeChallenge::TlsAlpn01,
        word => {
            let message = format!("unsupported challenge \"{}\"", String::from_utf8_lossy(word));
            return Err(args.error(0, message).help("write http-01 or tls-alpn-01"));
        }
    };
    Ok(())
}

fn contact(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    for index in 0..args.len() {
        let mut text = args.text(index)?;
        if text.value.is_empty() || text.value.iter().any(|byte| !byte.is_ascii_graphic()) {
            return Err(args.invalid(index, "an address, such as admin@example.com"));
        }
        if !text.value.contains(&b':') {
            text.value.splice(..0, *b"mailto:");
        }
        issuer.contacts.push(text);
    }
    Ok(())
}

fn external_account_key(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    let (kid, key) = (args.text(0)?, args.text(1)?);
    for (index, text) in [&kid, &key].into_iter().enumerate() {
        if text.value.is_empty() {
            return Err(args.invalid(index, "the key identifier, followed by a file or `data:` and the key"));
        }
    }
    issuer.external_account = Some(ExternalAccountConf { kid, key });
    Ok(())
}

fn profile(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    let required = args.len() == 2;
    if required && args.bytes(1) != b"require" {
        return Err(args.invalid(1, "`require` or omitted"));
    }
    issuer.profile = Some((args.text(0)?, required));
    Ok(())
}

fn state_path(issuer: &mut AcmeIssuerConf, args: &mut Arguments<'_>) -> SetterResult {
    let text = args.text(0)?;
    issuer.state_path = (text.value != b"off").then_some(text);
    Ok(())
}

fn certificate(server: &mut ServerConf, args: &mut Arguments<'_>) -> SetterResult {
    let mut certificate = AcmeCertificateConf {
        issuer: args.text(0)?,
        written: Vec::new(),
        identifiers: Vec::new(),
        key: AcmeKeyKind::default(),
        cluster: true,
        span: args.node.span,
    };
    for index in 1..args.len() {
        let word = args.bytes(index);
        if let Some(kind) = word.strip_prefix(b"key=") {
            certificate.key = key_kind(args, index, kind)?.ok_or_else(|| {
                args.invalid(index, "key=ecdsa:256, ecdsa:384, ecdsa:521, rsa:2048, rsa:3072 or rsa:4096")
            })?;
        } else if let Some(switch) = word.strip_prefix(b"cluster=") {
            certificate.cluster = match switch {
                b"on" => true,
                b"off" => false,
                _ => return Err(args.invalid(index, "cluster=on or cluster=off")),
            };
        } else {
            certificate.written.push(args.text(index)?);
        }
    }
    server.acme = Some(certificate);
    Ok(())
}

fn shared_zone(_: &mut HttpConf, args: &mut Arguments<'_>) -> SetterResult {
    let Some(zone) = args.bytes(0).strip_prefix(b"zone=") else {
        let message = "\"acme_shared_zone\" must have \"zone\" parameter";
        return Err(args.error(0, message).help("write zone=NAME:256k"));
    };
    let colon = zone.iter().position(|byte| *byte == b':').filter(|at| *at > 0);
    if colon.and_then(|at| parse_size(&zone[at + 1..]).ok()).is_none() {
        let zone = String::from_utf8_lossy(zone);
        return Err(args.error(0, format!("invalid zone size \"{zone}\"")).help("write zone=NAME:256k"));
    }
    Ok(())
}
