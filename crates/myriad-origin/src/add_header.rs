//! `origin_add_header`: header fields that are added to an origin's responses before they are stored, so that their
//! values are not computed again for cache hits.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_http::Fields;
use myriad_http::token::is_tchar;
use myriad_script::Template;

use myriad_exchange::exchange::{Exchange, exchange_buffers};
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

/// Fields of `origin_add_header`, in configuration order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AddSettings(Vec<AddedField>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AddedField {
    name: Box<[u8]>,
    value: Text,
    /// Names of other fields; if the response contains one of them, this field is not added.
    unless: Vec<Box<[u8]>>,
}

myriad_conf::feature_settings!(AddSettings);

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("headers", ROWS).compiled_by(compile);

static ROWS: &[Directive] = &[Directive::new(
    "origin_add_header",
    Contexts::HSL,
    at_least(2),
    Set::Settings(add),
    "Adds a header field to upstream responses, unless the response has a field of this name or of a name in \
         `unless=NAME`. The value is computed when the origin responds, and stored with the page: cache hits do not \
         compute it, and its variables are those of the request that caused the fetch. An empty value is not added.",
)
.repeats()
.own()];

fn add(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = field_name(args, 0, args.bytes(0))?;
    let value = args.text(1)?;
    let unless = (2..args.len()).map(|index| match args.bytes(index).strip_prefix(b"unless=") {
        Some(other) => field_name(args, index, other),
        None => Err(args.invalid(index, "`unless=` and the name of a header field")),
    });
    let unless = unless.collect::<Result<_, _>>()?;
    let AddSettings(fields) = settings.feature_mut();
    if args.first {
        fields.clear();
    }
    fields.push(AddedField { name, value, unless });
    Ok(())
}

/// Parses the name of a header field; rejects invalid names and fields that affect framing, encoding or storing of a
/// response.
fn field_name(args: &Arguments<'_>, index: usize, name: &[u8]) -> Result<Box<[u8]>, Diagnostic> {
    const NEVER: [&[u8]; 6] = [
        b"content-length",
        b"transfer-encoding",
        b"connection",
        b"content-encoding",
        b"set-cookie",
        b"trailer",
    ];
    if name.is_empty()
        || !name.iter().copied().all(is_tchar)
        || NEVER.iter().any(|never| name.eq_ignore_ascii_case(never))
    {
        return Err(args.invalid(
            index,
            "the name of a header field that does not affect framing, encoding or storing of a response",
        ));
    }
    Ok(name.into())
}

/// Compiled `origin_add_header` fields of a location.
struct CompiledAddedFields(Vec<CompiledField>);

struct CompiledField {
    name: Box<[u8]>,
    value: Template,
    unless: Vec<Box<[u8]>>,
}

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let AddSettings(fields) = settings.feature();
    if fields.is_empty() {
        return;
    }
    let compiled = fields.iter().map(|field| CompiledField {
        name: field.name.clone(),
        value: compiler.origin_template(&field.value),
        unless: field.unless.clone(),
    });
    features.insert(CompiledAddedFields(compiled.collect()));
}

/// Adds the configured fields of the location to a response. Omits a field if the response has it or one of its
/// `unless` fields, or if its value is empty or cannot be evaluated. Line breaks and NUL are removed from a value.
/// Nothing is added to a 304: a stored page already contains the fields.
pub(crate) fn add_configured_fields(exchange: &mut Exchange, status: u16, fields: &mut Fields) {
    let Exchange { request, frame } = exchange;
    let Some(CompiledAddedFields(added)) = request.place().features.get::<CompiledAddedFields>() else {
        return;
    };
    if status == 304 {
        return;
    }
    for field in added {
        let is_there = |name: &[u8]| fields.get(name).is_some();
        if is_there(&field.name) || field.unless.iter().any(|name| is_there(name)) {
            continue;
        }
        exchange_buffers::with_buffer(|value| {
            // A field whose value cannot be computed is omitted; the rest of the response is valid.
            if field.value.eval(request, frame, value).is_ok() && !value.is_empty() {
                value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                fields.push(&field.name, value);
            }
        });
    }
}
