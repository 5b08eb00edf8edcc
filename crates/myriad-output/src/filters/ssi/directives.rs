//! Directives of the ssi module, and their parsers.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, add_types, at_least,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::SsiSettings;

const HSL: Contexts = Contexts::HSL;
/// Maximum of `ssi_value_length`, in bytes: each page in progress may buffer sixteen values.
const LONGEST_VALUE: u64 = 64 << 10;

/// Directives of `ssi`.
pub static ROWS: &[Directive] = &[
    Directive::new(
        "ssi",
        Contexts::HSL_IF,
        FLAG,
        set!(Feature<SsiSettings>.flag => on),
        "Enables SSI commands in responses.",
    )
    .default("off")
    .differs(
        "an included response is requested without the range, conditions, codings and body of the client's request",
    ),
    Directive::new(
        "ssi_silent_errors",
        HSL,
        FLAG,
        set!(Feature<SsiSettings>.flag => silent_errors),
        "Omits the error message of a failed SSI command.",
    )
    .default("off"),
    Directive::new(
        "ssi_types",
        HSL,
        at_least(1),
        Set::Settings(ssi_types),
        "Media types in which SSI commands are processed.",
    )
    .default("text/html")
    .repeats(),
    Directive::new(
        "ssi_last_modified",
        HSL,
        FLAG,
        set!(Feature<SsiSettings>.flag => last_modified),
        "Preserves Last-Modified in pages with SSI.",
    )
    .default("off"),
    Directive::new(
        "ssi_value_length",
        HSL,
        ONE,
        Set::Settings(ssi_value_length),
        "Maximum length of a parameter value in SSI commands.",
    )
    .default("255"),
    Directive::new(
        "ssi_min_file_chunk",
        HSL,
        ONE,
        Set::Settings(min_file_chunk),
        "Minimum length of text that is sent directly from the file.",
    )
    .default("1k")
    .no_effect("a page is read while it is sent; text between commands is not sent directly from the file"),
    Directive::new(
        "ssi_ignore_recycled_buffers",
        HSL,
        FLAG,
        Set::Nothing,
        "Ignores recycled upstream buffers.",
    )
    .default("off")
    .no_effect("parts of a page are forwarded as they arrive"),
];

fn ssi_types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add_types(&mut settings.feature_mut::<SsiSettings>().types, args)
}

fn ssi_value_length(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let length = args.size(0)?;
    if length > LONGEST_VALUE {
        return Err(args.invalid(0, "at most 64k"));
    }
    settings.feature_mut::<SsiSettings>().value_length = length;
    Ok(())
}

/// Validates the syntax only, because the directive has no effect.
fn min_file_chunk(_: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.size(0).map(drop)
}
