//! Directives of the addition module, and their parsers.

use myriad_conf::Diagnostic;
use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, add_types, at_least};

use super::settings::AdditionSettings;

const HSL: Contexts = Contexts::HSL;

/// Directives of `addition`.
pub static ROWS: &[Directive] = &[
    Directive::new(
        "add_before_body",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<AdditionSettings>().before = path(args)?;
            Ok(())
        }),
        "URI of this server whose response is added before the body; an empty text adds nothing.",
    ),
    Directive::new(
        "add_after_body",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            settings.feature_mut::<AdditionSettings>().after = path(args)?;
            Ok(())
        }),
        "URI of this server whose response is added after the body; an empty text adds nothing.",
    ),
    Directive::new(
        "addition_types",
        HSL,
        at_least(1),
        Set::Settings(|settings, args| {
            add_types(&mut settings.feature_mut::<AdditionSettings>().types, args)
        }),
        "Media types of the responses to which text is added.",
    )
    .default("text/html")
    .repeats(),
];

/// Parses an absolute path or an empty text. As in nginx, the path is used as it is, without parsing arguments and
/// escapes.
fn path(args: &Arguments<'_>) -> Result<Vec<u8>, Diagnostic> {
    match args.bytes(0) {
        path @ ([] | [b'/', ..]) => Ok(path.to_vec()),
        _ => Err(args.invalid(0, "an absolute path such as \"/footer.html\", or empty")),
    }
}
