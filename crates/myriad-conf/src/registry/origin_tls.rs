//! TLS directives of origins (`proxy_ssl_*` and the same for other protocols), implemented with rustls.

use super::tls::{cache_of_certificates, versions};
use super::{
    Arguments, Arity, Contexts, Directive, FLAG, FamilyRow, ONE, Set, SetterResult, TWO, at_least, between,
    set,
};
use crate::settings::OriginSettings;
use crate::text::Text;

const fn row(name: &'static str, arity: Arity, set: Set, doc: &'static str) -> Directive {
    Directive::new(name, Contexts::HSL, arity, set, doc)
}

pub(super) static ROWS: &[FamilyRow] = &[
    FamilyRow::secure(
        row(
            "ssl_session_reuse",
            FLAG,
            set!(Origin.flag => tls.session_reuse),
            "Enables TLS session resumption with the upstream server.",
        )
        .default("on"),
    ),
    FamilyRow::secure(
        row("ssl_protocols", at_least(1), Set::Origin(protocols), "TLS versions for upstream connections.")
            .repeats()
            .default("TLSv1.2 TLSv1.3")
            .differs("versions older than TLSv1.2 are never used, and cause a warning"),
    ),
    FamilyRow::secure(
        row(
            "ssl_ciphers",
            ONE,
            set!(Origin.text => Some tls.ciphers),
            "TLS 1.2 cipher suites for upstream connections.",
        )
        .computed("all supported suites")
        .differs("only listed suites with forward secrecy and authenticated encryption are used"),
    ),
    FamilyRow::secure(
        row("ssl_conf_command", TWO, Set::Origin(command), "OpenSSL command for upstream connections.")
            .repeats()
            .differs("see `ssl_conf_command`"),
    ),
    FamilyRow::secure(
        row(
            "ssl_name",
            ONE,
            set!(Origin.text => Some tls.name),
            "Name of the upstream server for the verification of its certificate and for SNI.",
        )
        .computed("the host of `proxy_pass`"),
    ),
    FamilyRow::secure(
        row(
            "ssl_server_name",
            FLAG,
            set!(Origin.flag => tls.server_name),
            "Sends the server name to the upstream server (SNI).",
        )
        .default("off"),
    ),
    FamilyRow::secure(
        row(
            "ssl_verify",
            FLAG,
            set!(Origin.flag => tls.verify),
            "Enables verification of the upstream server's certificate.",
        )
        .default("off"),
    ),
    FamilyRow::secure(
        row(
            "ssl_verify_depth",
            ONE,
            set!(Origin.count => tls.verify_depth),
            "Maximum number of intermediate certificates in the chain of the upstream server.",
        )
        .default("1"),
    ),
    FamilyRow::secure(row(
        "ssl_trusted_certificate",
        ONE,
        Set::Origin(trusted_certificate),
        "Trusted CA certificates, in PEM.",
    )),
    FamilyRow::secure(row("ssl_crl", ONE, Set::Origin(crl), "Certificate revocation lists, in PEM.")),
    FamilyRow::secure(
        row(
            "ssl_certificate",
            ONE,
            set!(Origin.text => Some tls.certificate),
            "Client certificate for upstream connections, in PEM.",
        )
        .differs("`engine:` and `store:` are refused"),
    ),
    FamilyRow::secure(
        row(
            "ssl_certificate_key",
            ONE,
            set!(Origin.text => Some tls.key),
            "Private key of the client certificate, in PEM.",
        )
        .differs("`engine:` and `store:` are refused"),
    ),
    FamilyRow::secure(row(
        "ssl_password_file",
        ONE,
        set!(Origin.text => Some tls.password_file),
        "File with passwords of encrypted keys, one per line.",
    )),
    FamilyRow::secure(
        row(
            "ssl_certificate_cache",
            between(1, 3),
            Set::Origin(certificate_cache),
            "Caches certificates whose names contain variables.",
        )
        .default("off"),
    ),
];

fn protocols(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    (origin.tls.tls12, origin.tls.tls13) = versions(args, (origin.tls.tls12, origin.tls.tls13))?;
    Ok(())
}

fn command(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut origin.tls.commands);
    origin.tls.commands.push((args.text(0)?, args.text(1)?));
    Ok(())
}

/// Returns the file name in an argument; `None` if it is empty, which removes an inherited file.
fn named(text: Text) -> Option<Text> {
    Some(text).filter(|text| !text.is_empty())
}

fn trusted_certificate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.tls.trusted_certificate = named(args.text(0)?);
    Ok(())
}

fn crl(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.tls.crl = named(args.text(0)?);
    Ok(())
}

fn certificate_cache(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> SetterResult {
    origin.tls.certificate_cache = cache_of_certificates(args)?;
    Ok(())
}
