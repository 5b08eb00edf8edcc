//! Directives of nginx's headers module, and their parsers.

use myriad_conf::Diagnostic;
use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, between};
use myriad_conf::settings::Settings;

use super::parse_expires::parse_expires;
use super::settings::{AddHeader, HeaderSettings, InheritFields};
use myriad_exchange::runtime::ExpiresRule;

const WHERE: Contexts = Contexts::HSL_IF;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "add_header",
        WHERE,
        between(2, 3),
        Set::Settings(add_header),
        "Adds a header to responses.",
    )
    .repeats(),
    Directive::new(
        "add_header_inherit",
        WHERE,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<HeaderSettings>().add.set_inherit(inherit(args)?);
            Ok(())
        }),
        "Inheritance of add_header.",
    )
    .default("on"),
    Directive::new(
        "add_trailer",
        WHERE,
        between(2, 3),
        Set::Settings(|settings, args| {
            settings.feature_mut::<HeaderSettings>().trailers.push(read_header(args)?);
            Ok(())
        }),
        "Adds a trailer after the body.",
    )
    .repeats(),
    Directive::new(
        "add_trailer_inherit",
        WHERE,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<HeaderSettings>().trailers.set_inherit(inherit(args)?);
            Ok(())
        }),
        "Inheritance of add_trailer.",
    )
    .default("on"),
    Directive::new(
        "expires",
        WHERE,
        between(1, 2),
        Set::Settings(expires),
        "Sets Expires and Cache-Control.",
    )
    .default("off"),
];

fn read_header(args: &Arguments<'_>) -> Result<AddHeader, Diagnostic> {
    let always = args.len() > 2;
    if always {
        args.choice(2, &[("always", ())])?;
    }
    Ok(AddHeader { name: args.text(0)?, value: args.text(1)?, always })
}

fn add_header(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<HeaderSettings>().add.push(read_header(args)?);
    Ok(())
}

fn inherit(args: &Arguments<'_>) -> Result<InheritFields, Diagnostic> {
    let choices = [("on", InheritFields::On), ("off", InheritFields::Off), ("merge", InheritFields::Merge)];
    args.choice(0, &choices)
}

fn expires(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let modified = args.len() > 1;
    if modified {
        args.choice(0, &[("modified", ())])?;
    }
    let at = usize::from(modified);
    let word = args.bytes(at);
    settings.feature_mut::<HeaderSettings>().expires = match word {
        [b'$', ..] => ExpiresRule::Variable { text: args.text(at)?, modified },
        _ => parse_expires(word, modified).ok_or_else(|| {
            args.invalid(
                at,
                "\"off\", \"epoch\", \"max\", a time with or without a sign, or \"@\" and a time of day",
            )
        })?,
    };
    Ok(())
}
