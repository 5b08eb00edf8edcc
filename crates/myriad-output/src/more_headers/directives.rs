//! Directives `more_set_headers` and `more_clear_headers`, and their parsers.

use myriad_base::digits::decimal;
use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;

use super::settings::{FieldChange, HeaderChange, MoreHeadersSettings, ResponseHeaderEdit};

const HSL_IF: Contexts = Contexts::HSL_IF;
const FRAMING: &str = "headers that delimit a message (`Content-Length`, `Connection`, ...) are rejected";

/// Directives of the module headers-more that change responses.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "more_set_headers",
        HSL_IF,
        at_least(1),
        Set::Settings(set),
        "Sets headers of responses, and replaces existing ones.",
    )
    .repeats()
    .differs(FRAMING),
    Directive::new(
        "more_clear_headers",
        HSL_IF,
        at_least(1),
        Set::Settings(clear),
        "Removes headers from responses; `*` at the end of a name matches any suffix.",
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
    let mut edit = ResponseHeaderEdit::default();
    let (mut adds, mut lengths) = (false, false);
    let mut index = 0;
    while index < args.len() {
        match args.bytes(index) {
            b"-s" => {
                index += 1;
                statuses(&mut edit, args, index)?;
            }
            b"-t" => {
                index += 1;
                let lower = |word: &[u8]| String::from_utf8_lossy(word).to_ascii_lowercase();
                edit.types
                    .extend(args.list_of_option(index, "-t 'text/html text/css'")?.into_iter().map(lower));
            }
            b"-a" if !clears => adds = true,
            word if is_length(word) => {
                args.warn(index, "\"Content-Length\" is derived from the body and is not changed".to_owned());
                lengths = true;
            }
            _ => {
                let (name, value) = args.field(index)?;
                let change = match value.filter(|_| !clears) {
                    None => HeaderChange::Clear,
                    Some(value) if adds => HeaderChange::Add(value),
                    Some(value) => HeaderChange::Set(value),
                };
                edit.fields.push(FieldChange { name: name.to_vec(), change });
            }
        }
        index += 1;
    }
    if edit.fields.is_empty() && lengths {
        return Ok(());
    }
    if edit.fields.is_empty() {
        return Err(args.error(0, format!("missing header name in \"{}\"", args.directive.name)));
    }
    settings.feature_mut::<MoreHeadersSettings>().edits.push(edit);
    Ok(())
}

/// Returns whether a word names `Content-Length`. Some configurations set it to 0 for responses without a body.
fn is_length(word: &[u8]) -> bool {
    let name = word.split(|byte| *byte == b':').next().unwrap_or_default();
    name.trim_ascii().eq_ignore_ascii_case(b"content-length")
}

fn statuses(edit: &mut ResponseHeaderEdit, args: &Arguments<'_>, index: usize) -> SetterResult {
    let example = "-s '404 500'";
    for word in args.list_of_option(index, example)? {
        let Some(status) = decimal(word).filter(|status| (100..=999).contains(status)) else {
            let message = format!("\"{}\" is not a status", word.escape_ascii());
            return Err(args.error(index, message).help(format!("separate statuses by spaces: {example}")));
        };
        edit.statuses.push(status);
    }
    Ok(())
}
