//! Charset filter: adds a charset to the media type of a response, and converts its body.

use myriad_http::media_types::TypeSet;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_log::LogLevel;
use myriad_net::ResponseBody;
use myriad_script::{Frame, Template};

use super::converter::Converter;
use super::settings::{CharsetMaps, CharsetSettings};
use super::tables::{Charsets, ConversionTable};
use crate::filters::wrap::{is_packed, wrap};
use crate::transform::transformed;
use myriad_exchange::exchange::{ContentResponse, Exchange, Filter, Request, pull_body};
use myriad_exchange::runtime::SettingsCompiler;

/// Compiled `charset*` of a location.
struct Charset {
    /// `charset`: name of the target charset.
    name: Template,
    /// `source_charset`; `None` if not configured.
    source: Option<Template>,
    /// `override_charset`: true if responses that specify a charset are converted too.
    override_named: bool,
    /// `charset_types`: media types to which the charset is added. With `override_charset`, a response that specifies a
    /// charset is converted whatever its type.
    types: TypeSet,
    /// Set if the filter may convert bodies: a source charset or `override_charset`, and a `charset_map`, are
    /// configured.
    converts: bool,
    /// Conversion tables of the configuration.
    charsets: Arc<Charsets>,
}

/// Compiles `charset*` of a configuration level; `None` if no charset is added. Reports a missing `charset_map` between
/// two constant charsets.
pub(crate) fn compiled(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
) -> Option<Box<dyn Filter<Exchange>>> {
    let written = settings.feature::<CharsetSettings>();
    let name = written.name.as_ref()?;
    let charsets = compiler.share(Charsets::of);
    if let Some(source) = &written.source {
        check_table(compiler, &charsets, source, name);
    }
    let has_source_rule = written.source.is_some() || written.override_named;
    Some(Box::new(Charset {
        name: compiler.answer_template(name),
        source: written.source.as_ref().map(|source| compiler.answer_template(source)),
        override_named: written.override_named,
        types: TypeSet::new(&written.types),
        converts: has_source_rule && !CharsetMaps::of(compiler.model()).is_empty(),
        charsets,
    }))
}

fn check_table(compiler: &mut dyn SettingsCompiler, charsets: &Charsets, from: &Text, to: &Text) {
    let plain = !from.has_variables() && !to.has_variables();
    if plain
        && !from.bytes().eq_ignore_ascii_case(to.bytes())
        && charsets.table(from.bytes(), to.bytes()).is_none()
    {
        let message =
            format!("no \"charset_map\" between the charsets \"{}\" and \"{}\"", from.lossy(), to.lossy());
        compiler.report(
            Diagnostic::error(from.span, message)
                .help("write `charset_map FROM TO { … }` in `http`, or remove `source_charset`"),
        );
    }
}

impl Filter<Exchange> for Charset {
    fn name(&self) -> &'static str {
        "charset_map"
    }

    fn changes(&self, media_type: &[u8]) -> bool {
        self.converts && (self.override_named || self.types.contains(media_type))
    }

    fn changes_bodies(&self) -> bool {
        self.converts
    }

    /// Returns true: a variable in `charset` may depend on the media type of the response.
    fn reads_response_head(&self) -> bool {
        true
    }

    fn allows_shortcut(&self) -> bool {
        true
    }

    /// Adds the charset to the media type, and converts the body if its known charset differs. Does nothing for a
    /// response that specifies a charset, unless `override_charset` is on; for other responses whose type is not in
    /// `charset_types`; for statuses 301 and 302; and if the body cannot be converted.
    fn apply(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        let Some(media_type) = answer.media_type() else { return };
        let (bare, named) = split(media_type);
        let wanted = if named.is_some() { self.override_named } else { self.types.contains(bare) };
        if !wanted || matches!(answer.status, 301 | 302) {
            return;
        }
        if let (None, None, Some(name)) = (named, &self.source, self.name.as_static()) {
            if !matches!(name, b"" | b"off") {
                answer.media_type = Some(Cow::Owned([bare, b"; charset=", name].concat()));
            }
            return;
        }
        let (bare, named) = (bare.to_vec(), named.map(<[u8]>::to_vec));
        let Exchange { request, frame } = exchange;
        let Some(to) = evaluated(request, frame, &self.name) else { return };
        let from = match (named, &self.source) {
            (Some(named), _) => Some(named),
            (None, Some(source)) => evaluated(request, frame, source),
            (None, None) => None,
        };
        if let Some(from) = from
            && !from.eq_ignore_ascii_case(&to)
            && !self.convert(request, answer, &from, &to)
        {
            return;
        }
        answer.media_type = Some(Cow::Owned([&bare[..], b"; charset=", &to[..]].concat()));
    }
}

impl Charset {
    /// Converts the body. Returns false, so that the response stays unchanged, if no table exists, which is logged, or
    /// if the body is compressed and both charsets are configured.
    fn convert(&self, request: &Request, answer: &mut ContentResponse, from: &[u8], to: &[u8]) -> bool {
        let known = self.charsets.contains(from) && self.charsets.contains(to);
        if known && is_packed(answer) {
            return false;
        }
        let Some(table) = self.charsets.table(from, to) else {
            let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
            let message = format_args!("no \"charset_map\" between the charsets \"{from}\" and \"{to}\"");
            request.log(LogLevel::Error, message);
            return false;
        };
        convert_body(answer, table, request.place().files.etag);
        true
    }
}

/// Replaces the body of a response with its text in another charset. The length of the body remains known only if the
/// conversion preserves it.
fn convert_body(answer: &mut ContentResponse, table: &ConversionTable, etags: bool) {
    let converter = Converter::new(table.clone());
    let length = answer.known_length();
    if table.preserves_length() && length.is_some() {
        // Each byte becomes one byte: the length is unchanged, and ranges remain possible.
        answer.body = match std::mem::replace(&mut answer.body, ResponseBody::None) {
            ResponseBody::Full(bytes) => ResponseBody::Full(converter.whole(&bytes)),
            body => ResponseBody::Stream(transformed(pull_body(body), converter), length),
        };
        answer.compressible = true;
        return;
    }
    answer.detach(etags);
    wrap(answer, converter);
}

/// Returns whether a response with this media type and without a charset will be marked as UTF-8 by the request's
/// location.
pub fn names_utf8(exchange: &mut Exchange, media_type: &[u8]) -> bool {
    let Exchange { request, frame } = exchange;
    let site = Rc::clone(&request.site);
    let Some(charset) = site.runtime.place(request.route.place).filters.get::<Charset>() else {
        return false;
    };
    charset.types.contains(media_type)
        && evaluated(request, frame, &charset.name).is_some_and(|name| name.eq_ignore_ascii_case(b"utf-8"))
}

/// Evaluates the name of a charset; `None` for `off`, an empty value, and a value that cannot be evaluated.
fn evaluated(request: &Request, frame: &mut Frame, template: &Template) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    // A name that cannot be evaluated counts as `off`; the response itself is valid.
    template.eval(request, frame, &mut name).ok()?;
    name.retain(|byte| !byte.is_ascii_control());
    (!name.is_empty() && name != b"off").then_some(name)
}

/// Splits a media type into the type without parameters, and its charset (`None` if it has none).
fn split(media_type: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = media_type.split(|byte| *byte == b';');
    let bare = parts.next().unwrap_or_default().trim_ascii();
    let charset = parts.find_map(|part| {
        let part = part.trim_ascii();
        let value =
            part.get(..8).filter(|name| name.eq_ignore_ascii_case(b"charset=")).map(|_| &part[8..])?;
        let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        Some(unquoted.unwrap_or(value))
    });
    (bare, charset)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn charset_is_found_among_the_parameters_of_a_media_type() {
        assert_eq!(split(b"text/html"), (&b"text/html"[..], None));
        assert_eq!(split(b"Text/HTML ; x=y"), (&b"Text/HTML"[..], None));
        assert_eq!(split(b"text/html; x=y; Charset=utf-8"), (&b"text/html"[..], Some(&b"utf-8"[..])));
        assert_eq!(split(b"text/html;charset=\"koi8-r\""), (&b"text/html"[..], Some(&b"koi8-r"[..])));
    }
}
