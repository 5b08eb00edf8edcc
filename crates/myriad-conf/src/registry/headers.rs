//! nginx's headers module.

use super::{Arguments, Contexts, Directive, Done, ONE, Set, between};
use crate::{
    diagnostic::Diagnostic,
    number::parse_seconds,
    settings::{AddHeader, Expires, InheritFields, Settings},
};

const WHERE: Contexts = Contexts::HSL_IF;

pub(super) static ROWS: &[Directive] = &[
    Directive::new("add_header", WHERE, between(2, 3), Set::Settings(add_header), "Adds a field to answers.")
        .repeats(),
    Directive::new(
        "add_header_inherit",
        WHERE,
        ONE,
        Set::Settings(|settings, args| {
            settings.headers.add.set_inherit(inherit(args)?);
            Ok(())
        }),
        "How add_header is inherited.",
    )
    .default("on"),
    Directive::new(
        "add_trailer",
        WHERE,
        between(2, 3),
        Set::Settings(|settings, args| {
            settings.headers.trailers.push(read_header(args)?);
            Ok(())
        }),
        "Adds a field after the body.",
    )
    .repeats(),
    Directive::new(
        "add_trailer_inherit",
        WHERE,
        ONE,
        Set::Settings(|settings, args| {
            settings.headers.trailers.set_inherit(inherit(args)?);
            Ok(())
        }),
        "How add_trailer is inherited.",
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

fn add_header(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.headers.add.push(read_header(args)?);
    Ok(())
}

fn inherit(args: &Arguments<'_>) -> Result<InheritFields, Diagnostic> {
    let choices = [("on", InheritFields::On), ("off", InheritFields::Off), ("merge", InheritFields::Merge)];
    args.choice(0, &choices)
}

fn expires(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let modified = args.len() > 1;
    if modified {
        args.choice(0, &[("modified", ())])?;
    }
    let at = usize::from(modified);
    let word = args.bytes(at);
    settings.headers.expires = match word {
        [b'$', ..] => Expires::Variable { text: args.text(at)?, modified },
        _ => parse_expires(word, modified).ok_or_else(|| {
            args.invalid(
                at,
                "\"off\", \"epoch\", \"max\", a time with or without a sign, or \"@\" and a time of day",
            )
        })?,
    };
    Ok(())
}

/// What `expires` says, or what its variable yields at run time; none where it means nothing.
pub fn parse_expires<T>(word: &[u8], modified: bool) -> Option<Expires<T>> {
    match (word, modified) {
        (b"off", false) => return Some(Expires::Off),
        (b"epoch", false) => return Some(Expires::Epoch),
        (b"max", false) => return Some(Expires::Max),
        ([b'@', time @ ..], false) => {
            let seconds = parse_seconds(time).ok().and_then(|seconds| u32::try_from(seconds).ok());
            return seconds.filter(|seconds| *seconds <= 86_400).map(Expires::Daily);
        }
        _ => {}
    }
    let (sign, time) = match word {
        [b'-', time @ ..] => (-1, time),
        [b'+', time @ ..] | time => (1, time),
    };
    let seconds = sign * i64::try_from(parse_seconds(time).ok()?).ok()?;
    Some(if modified { Expires::Modified(seconds) } else { Expires::Access(seconds) })
}
