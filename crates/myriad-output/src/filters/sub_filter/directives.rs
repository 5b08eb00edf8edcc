//! Directives of the sub_filter module, and their parsers.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, Set, SetterResult, TWO, add_types, at_least,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::{Replacement, SubFilterSettings};

const HSL: Contexts = Contexts::HSL;
/// Maximum number of patterns on one level, as in nginx.
const MOST_PATTERNS: usize = 255;

/// Directives of `sub_filter`.
pub static ROWS: &[Directive] = &[
    Directive::new("sub_filter", HSL, TWO, Set::Settings(sub_filter), "Replaces a text in responses.")
        .repeats(),
    Directive::new(
        "sub_filter_once",
        HSL,
        FLAG,
        set!(Feature<SubFilterSettings>.flag => once),
        "Replaces only the first occurrence of each text.",
    )
    .default("on"),
    Directive::new(
        "sub_filter_types",
        HSL,
        at_least(1),
        Set::Settings(sub_filter_types),
        "Media types in which texts are replaced.",
    )
    .default("text/html")
    .repeats(),
    Directive::new(
        "sub_filter_last_modified",
        HSL,
        FLAG,
        set!(Feature<SubFilterSettings>.flag => last_modified),
        "Preserves Last-Modified.",
    )
    .default("off"),
];

fn sub_filter(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let list = &mut settings.feature_mut::<SubFilterSettings>().replacements;
    args.start(list);
    if args.bytes(0).is_empty() {
        return Err(args.error(0, "empty search pattern in \"sub_filter\" directive"));
    }
    if list.len() == MOST_PATTERNS {
        return Err(
            args.error(0, format!("more than {MOST_PATTERNS} \"sub_filter\" directives on one level"))
        );
    }
    list.push(Replacement { pattern: args.text(0)?, replacement: args.text(1)? });
    Ok(())
}

fn sub_filter_types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add_types(&mut settings.feature_mut::<SubFilterSettings>().types, args)
}
