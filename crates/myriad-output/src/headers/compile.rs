//! Compilation of `add_header`, `add_trailer` and `expires`.

use myriad_conf::settings::Settings;
use myriad_script::Template;

use super::settings::{AddHeader, AddedFields, HeaderSettings};
use myriad_exchange::runtime::{AddField, ExpiresRule, SettingsCompiler};

/// Returns the compiled `add_header` directives that apply on a configuration level, including inherited ones.
/// Directives with an empty value are omitted, because they only remove a field.
pub fn added_fields(settings: &Settings, compile: &mut dyn SettingsCompiler) -> Vec<AddField> {
    compiled(&settings.feature::<HeaderSettings>().add, true, compile)
}

/// Returns the compiled `add_trailer` directives that apply on a configuration level, including inherited ones.
pub fn added_trailers(settings: &Settings, compile: &mut dyn SettingsCompiler) -> Vec<AddField> {
    compiled(&settings.feature::<HeaderSettings>().trailers, false, compile)
}

/// Returns the compiled `expires` of a configuration level.
pub fn expiry(settings: &Settings, compile: &mut dyn SettingsCompiler) -> ExpiresRule<Template> {
    settings.feature::<HeaderSettings>().expires.map(|text| compile.template(text))
}

/// Returns the names, in lower case, of the response fields that an `add_header` replaces (`etag`, `last-modified`),
/// each with the flag `always` of the directive.
pub fn replaced(settings: &Settings) -> Vec<(&'static [u8], bool)> {
    settings.feature::<HeaderSettings>().add.iter().filter_map(single).collect()
}

/// Returns whether an `add_header` of a configuration level has this name, ignoring letter case.
pub fn names(settings: &Settings, name: &[u8]) -> bool {
    let mut fields = settings.feature::<HeaderSettings>().add.iter();
    fields.any(|field| field.name.bytes().eq_ignore_ascii_case(name))
}

/// Returns whether an `add_header` of a configuration level sets a freshness field (`Cache-Control`, `Expires`, `Age`).
/// The lifetime of responses then starts when they are sent.
pub fn sets_freshness(settings: &Settings) -> bool {
    settings.feature::<HeaderSettings>().add.iter().any(is_of_freshness)
}

fn compiled(fields: &AddedFields, in_head: bool, compile: &mut dyn SettingsCompiler) -> Vec<AddField> {
    let fields: Vec<_> = fields.iter().collect();
    let once = |field: &AddHeader| if in_head { single(field) } else { None };
    fields
        .iter()
        .enumerate()
        // A field without a value only replaces an existing one. A trailer without a value makes the response chunked.
        .filter(|(_, field)| !in_head || !field.value.is_empty())
        .map(|(index, field)| {
            let twins = fields[index + 1..].iter().filter_map(|later| once(later));
            let of_this = once(field);
            let twins = twins.filter(|(name, _)| of_this.is_some_and(|(own, _)| own == *name));
            AddField {
                name: field.name.bytes().into(),
                value: compile.template(&field.value),
                always: field.always,
                superseded: twins.map(|(_, always)| always).reduce(|any, always| any || always),
            }
        })
        .collect()
}

fn is_of_freshness(field: &AddHeader) -> bool {
    [&b"cache-control"[..], b"expires", b"age"]
        .iter()
        .any(|name| field.name.bytes().eq_ignore_ascii_case(name))
}

/// Returns the name (in lower case) and `always` of a field that may occur only once: `add_header` then replaces an
/// existing field, as in nginx. `None` for other fields.
fn single(field: &AddHeader) -> Option<(&'static [u8], bool)> {
    let names: [&'static [u8]; 2] = [b"etag", b"last-modified"];
    let name = names.into_iter().find(|name| field.name.bytes().eq_ignore_ascii_case(name))?;
    Some((name, field.always))
}
