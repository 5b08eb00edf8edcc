//! Execution of `more_set_input_headers` and `more_clear_input_headers`.

use myriad_conf::settings::Settings;
use myriad_http::{Known, ParseError};
use myriad_log::LogLevel;
use myriad_script::Template;

use super::settings::{HeaderEdit, MoreInputSettings};
use myriad_exchange::exchange::{Check, CheckVerdict, Exchange, Request};
use myriad_exchange::runtime::SettingsCompiler;
use myriad_http::media_types::TypeSet;
use myriad_http::uri::parse_host;

/// Compiled `more_set_input_headers` and `more_clear_input_headers` of a location.
struct MoreInputHeaders(Vec<CompiledEdit>);

/// One compiled `more_set_input_headers` or `more_clear_input_headers`.
struct CompiledEdit {
    types: Option<TypeSet>,
    replaces_only: bool,
    /// Field names in lower case, each with its new value; `None` removes the field.
    fields: Vec<(Vec<u8>, Option<Template>)>,
}

/// Returns the check of a location; `None` if it changes no fields.
pub(crate) fn check(settings: &Settings, compiler: &mut dyn SettingsCompiler) -> Option<Box<dyn Check>> {
    let edits = &settings.feature::<MoreInputSettings>().edits;
    let compiled: Vec<_> = edits.iter().map(|edit| compile_edit(edit, compiler)).collect();
    (!compiled.is_empty()).then(|| Box::new(MoreInputHeaders(compiled)) as _)
}

fn compile_edit(edit: &HeaderEdit, compiler: &mut dyn SettingsCompiler) -> CompiledEdit {
    let fields = edit.fields.iter().map(|field| {
        (field.name.to_ascii_lowercase(), field.value.as_ref().map(|value| compiler.origin_template(value)))
    });
    CompiledEdit {
        types: (!edit.types.is_empty()).then(|| TypeSet::new(&edit.types)),
        replaces_only: edit.replaces_only,
        fields: fields.collect(),
    }
}

impl Check for MoreInputHeaders {
    fn name(&self) -> &'static str {
        "more_set_input_headers"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        for edit in &self.0 {
            // Each directive operates on the result of the directives before it.
            if edit.applies_to(&exchange.request) {
                for (name, value) in &edit.fields {
                    if let Err(error) = change(exchange, name, value.as_ref(), edit.replaces_only) {
                        exchange.request.log(
                            LogLevel::Info,
                            format_args!("more_set_input_headers sets an invalid \"Host\": {error}"),
                        );
                        return CheckVerdict::Fail(error.status());
                    }
                }
            }
        }
        CheckVerdict::Pass
    }

    fn explain(&self, request: &Request) -> (String, CheckVerdict) {
        let fields = self.0.iter().filter(|edit| edit.applies_to(request)).flat_map(|edit| &edit.fields);
        let names: Vec<_> = fields.map(|(name, _)| String::from_utf8_lossy(name)).collect();
        let explanation =
            if names.is_empty() { String::new() } else { format!("changes {}", names.join(", ")) };
        (explanation, CheckVerdict::Pass)
    }
}

impl CompiledEdit {
    /// Returns whether the directive changes this request: without `-t` every request, with `-t` only a request whose
    /// `Content-Type` (without parameters) is listed.
    fn applies_to(&self, request: &Request) -> bool {
        let Some(types) = &self.types else { return true };
        let media_type = request.received.head.known(Known::ContentType).unwrap_or_default();
        types.contains(media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii())
    }
}

/// Sets one field of the request, or removes it if the value is empty. A name with a trailing `*` removes all fields
/// whose name begins with the text before it. With `replaces_only`, a field that the request does not have is not
/// added. A new `Host` also becomes the host of the request, as for a received one: in lower case, without port and
/// trailing dot. Without `Host`, the host of the request is the name of its server. Line breaks and NUL in the value
/// are removed. If the value cannot be evaluated, logs the error and changes nothing.
///
/// # Errors
/// Returns an error if the new value of `Host` is not a valid host.
fn change(
    exchange: &mut Exchange,
    name: &[u8],
    value: Option<&Template>,
    replaces_only: bool,
) -> Result<(), ParseError> {
    let mut text = Vec::new();
    if let Some(value) = value {
        let Exchange { request, frame } = &mut *exchange;
        if let Err(error) = value.eval(request, frame, &mut text) {
            exchange.request.log(LogLevel::Error, format_args!("more_set_input_headers: {error}"));
            return Ok(());
        }
        text.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    }
    let fields = exchange.request.received.head.fields_mut();
    if let Some(beginning) = name.strip_suffix(b"*") {
        fields.retain(|known, _| {
            !known.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
        });
    } else if replaces_only && fields.get(name).is_none() {
        return Ok(());
    } else if name == b"host" {
        return set_host(&mut exchange.request, &text);
    } else if text.is_empty() {
        fields.remove(name);
    } else {
        fields.set(name, &text);
    }
    Ok(())
}

/// Sets `Host` and the host of the request. Without text, removes `Host`; the host is then the name of the server.
fn set_host(request: &mut Request, text: &[u8]) -> Result<(), ParseError> {
    if text.is_empty() {
        request.received.head.fields_mut().remove_known(Known::Host);
        request.route.host = request.server().name.to_vec();
        return Ok(());
    }
    request.received.head.set_host(text)?;
    let host = request.received.head.known(Known::Host).unwrap_or_default();
    request.route.host = parse_host(host).map_err(|_| ParseError::InvalidHost)?.name.into_owned();
    Ok(())
}
