//! Directives `more_*_input_headers`, and the parser of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;

use super::settings::{FieldChange, HeaderEdit, MoreInputSettings};

const FRAMING: &str = "headers that frame a message (`Content-Length`, `Connection`, ...) are rejected";

/// Directives of the module headers-more that change requests.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "more_set_input_headers",
        Contexts::HSL_IF,
        at_least(1),
        Set::Settings(set),
        "Sets request headers; replaces existing ones.",
    )
    .repeats()
    .differs(FRAMING),
    Directive::new(
        "more_clear_input_headers",
        Contexts::HSL_IF,
        at_least(1),
        Set::Settings(clear),
        "Removes request headers; `*` at the end of a name matches any suffix.",
    )
    .repeats()
    .differs(FRAMING),
];

fn set(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    read(settings, args, false)
}

fn clear(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    read(settings, args, true)
}

fn read(settings: &mut Settings, args: &mut Arguments<'_>, clears: bool) -> SetterResult {
    let mut edit = HeaderEdit::default();
    let mut index = 0;
    while index < args.len() {
        match args.bytes(index) {
            b"-t" => {
                index += 1;
                let lower = |word: &[u8]| String::from_utf8_lossy(word).to_ascii_lowercase();
                edit.types
                    .extend(args.list_of_option(index, "-t 'text/plain text/css'")?.into_iter().map(lower));
            }
            b"-r" if !clears => edit.replaces_only = true,
            _ => {
                let (name, value) = args.field(index)?;
                edit.fields.push(FieldChange { name: name.to_vec(), value: value.filter(|_| !clears) });
            }
        }
        index += 1;
    }
    if edit.fields.is_empty() {
        return Err(args.error(0, format!("no header name in \"{}\"", args.directive.name)));
    }
    settings.feature_mut::<MoreInputSettings>().edits.push(edit);
    Ok(())
}
