//! `proxy_ssl_*`, by rustls.

use super::tls::{cache_of_certificates, versions};
use super::{
    Arguments, Arity, Contexts, Directive, Done, FLAG, FamilyRow, ONE, Set, TWO, at_least, between, set,
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
            "Whether sessions with an origin are resumed.",
        )
        .default("on"),
    ),
    FamilyRow::secure(
        row("ssl_protocols", at_least(1), Set::Origin(protocols), "Versions of TLS that an origin may speak.")
            .repeats()
            .default("TLSv1.2 TLSv1.3")
            .differs("what is older than TLSv1.2 is never spoken, with a warning"),
    ),
    FamilyRow::secure(
        row("ssl_ciphers", ONE, set!(Origin.text => Some tls.ciphers), "Suites for TLS 1.2 with an origin.")
            .computed("all that are spoken")
            .differs(
                "of what the list names, the suites with forward secrecy and authenticated encryption are used",
            ),
    ),
    FamilyRow::secure(
        row("ssl_conf_command", TWO, Set::Origin(command), "A setting of OpenSSL for connections to an origin.")
            .repeats()
            .differs("as `ssl_conf_command`"),
    ),
    FamilyRow::secure(
        row("ssl_name", ONE, set!(Origin.text => Some tls.name), "Who the origin must be.")
            .computed("the host of `proxy_pass`"),
    ),
    FamilyRow::secure(
        row(
            "ssl_server_name",
            FLAG,
            set!(Origin.flag => tls.server_name),
            "Whether the origin is told who it must be (SNI).",
        )
        .default("off"),
    ),
    FamilyRow::secure(
        row("ssl_verify", FLAG, set!(Origin.flag => tls.verify), "Whether the origin must prove who it is.")
            .default("off"),
    ),
    FamilyRow::secure(
        row(
            "ssl_verify_depth",
            ONE,
            set!(Origin.count => tls.verify_depth),
            "How many authorities may stand between an origin and a root.",
        )
        .default("1"),
    ),
    FamilyRow::secure(row(
        "ssl_trusted_certificate",
        ONE,
        Set::Origin(trusted_certificate),
        "The authorities that are trusted, in PEM.",
    )),
    FamilyRow::secure(row("ssl_crl", ONE, Set::Origin(crl), "Lists of revoked certificates, in PEM.")),
    FamilyRow::secure(
        row(
            "ssl_certificate",
            ONE,
            set!(Origin.text => Some tls.certificate),
            "The certificate that origins are shown, in PEM.",
        )
        .differs("`engine:` and `store:` are refused"),
    ),
    FamilyRow::secure(
        row("ssl_certificate_key", ONE, set!(Origin.text => Some tls.key), "Its key, in PEM.")
            .differs("`engine:` and `store:` are refused"),
    ),
    FamilyRow::secure(row(
        "ssl_password_file",
        ONE,
        set!(Origin.text => Some tls.password_file),
        "Passwords of encrypted keys, a line each.",
    )),
    FamilyRow::secure(
        row(
            "ssl_certificate_cache",
            between(1, 3),
            Set::Origin(certificate_cache),
            "Remembers certificates that variables name.",
        )
        .default("off"),
    ),
];

fn protocols(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    (origin.tls.tls12, origin.tls.tls13) = versions(args, (origin.tls.tls12, origin.tls.tls13))?;
    Ok(())
}

fn command(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut origin.tls.commands);
    origin.tls.commands.push((args.text(0)?, args.text(1)?));
    Ok(())
}

/// Returns `None` for an empty name, which removes an inherited file.
fn named(text: Text) -> Option<Text> {
    Some(text).filter(|text| !text.is_empty())
}

fn trusted_certificate(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.tls.trusted_certificate = named(args.text(0)?);
    Ok(())
}

fn crl(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.tls.crl = named(args.text(0)?);
    Ok(())
}

fn certificate_cache(origin: &mut OriginSettings, args: &mut Arguments<'_>) -> Done {
    origin.tls.certificate_cache = cache_of_certificates(args)?;
    Ok(())
}
