//! Directives for static files, media types, error pages and redirects.

use std::sync::Arc;

use myriad_policy::IfModifiedSince;

use super::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, TWO, at_least, block, exactly, set,
};
use crate::{
    parsed::Node,
    settings::{
        ErrorPage, ErrorPageCode, LargeBuffers, ServerTokens, Settings, TryFiles, TryFilesEnd, Types,
    },
    text::Text,
};

const HSL: Contexts = Contexts::HSL;
const HSL_IF: Contexts = Contexts::HSL_IF;
const LOCATION: Contexts = Contexts::LOCATION;
const SENDFILE: &str = "files up to 1 MB are sent from memory, larger files with sendfile(2)";

pub(super) static ROWS: &[Directive] = &[
    Directive::new("root", HSL_IF, ONE, Set::Settings(root), "Root folder of files; the URI path is appended.")
        .default("html")
        .group("root and alias"),
    Directive::new(
        "alias",
        LOCATION,
        ONE,
        Set::Settings(alias),
        "Folder that replaces the location prefix in the path.",
    )
    .group("root and alias"),
    Directive::new("index", HSL, at_least(1), Set::Settings(index), "Index files of a folder, tried in order.")
        .default("index.html")
        .repeats(),
    Directive::new(
        "try_files",
        Contexts::SERVER.or(LOCATION),
        at_least(2),
        Set::Settings(try_files),
        "Serves the first existing file of a list.",
    ),
    Directive::new("error_page", HSL_IF, at_least(2), Set::Settings(error_page), "Sets the page for error statuses.")
        .repeats(),
    Directive::new(
        "recursive_error_pages",
        HSL,
        FLAG,
        set!(Settings.flag => content.recursive_error_pages),
        "Allows an error page to have an error page.",
    )
    .default("off"),
    Directive::new("types", HSL, block(0, 0), Set::Settings(types), "Media types by file name extension.")
        .default("text/html html; image/gif gif; image/jpeg jpg;")
        .repeats(),
    Directive::new(
        "default_type",
        HSL,
        ONE,
        set!(Settings.text => content.default_type),
        "Media type of files whose extension is not in `types`.",
    )
    .default("text/plain"),
    Directive::new(
        "internal",
        LOCATION,
        exactly(0),
        Set::Settings(internal),
        "Restricts a location to internal redirects.",
    ),
    Directive::new(
        "sendfile",
        HSL_IF,
        FLAG,
        set!(Settings.flag => content.sendfile),
        "Enables sendfile(2).",
    )
    .default("off")
    .no_effect(SENDFILE),
    Directive::new(
        "sendfile_max_chunk",
        HSL,
        ONE,
        set!(Settings.size => content.sendfile_max_chunk),
        "Maximum amount of data per sendfile(2) call.",
    )
    .default("2m")
    .no_effect("always 512k, so that no client blocks a worker"),
    Directive::new("output_buffers", HSL, TWO, Set::Settings(output_buffers), "Number and size of buffers for reading files.")
        .default("2 32k")
        .no_effect(SENDFILE),
    Directive::new(
        "subrequest_output_buffer_size",
        HSL,
        ONE,
        set!(Settings.size => content.subrequest_output_buffer_size),
        "Maximum size of a subrequest response that is stored in a variable.",
    )
    .default("4k"),
    Directive::new(
        "limit_rate",
        HSL_IF,
        ONE,
        Set::Settings(limit_rate),
        "Maximum response rate in bytes per second for each request.",
    )
    .default("0"),
    Directive::new(
        "limit_rate_after",
        HSL_IF,
        ONE,
        Set::Settings(limit_rate_after),
        "Amount sent before limit_rate applies.",
    )
    .default("0"),
    Directive::new(
        "max_ranges",
        HSL,
        ONE,
        set!(Settings.number => Some content.max_ranges),
        "Maximum number of ranges in a request.",
    ),
    Directive::new("etag", HSL, FLAG, set!(Settings.flag => content.etag), "Sends `ETag` for files.")
        .default("on"),
    Directive::new(
        "if_modified_since",
        HSL,
        ONE,
        Set::Settings(if_modified_since),
        "Comparison of If-Modified-Since with the modification time.",
    )
    .default("exact")
    .differs(
        "`If-None-Match` and `If-Match` take precedence (RFC 9110 section 13.2.2), whereas nginx also compares the \
             times; an invalid date is ignored",
    ),
    Directive::new("server_tokens", HSL, ONE, Set::Settings(server_tokens), "Shows the server version in responses.")
        .default("on")
        .differs("the product name is Myriad"),
    Directive::new(
        "absolute_redirect",
        HSL,
        FLAG,
        set!(Settings.flag => content.absolute_redirect),
        "Sends redirects with an absolute URL.",
    )
    .default("on"),
    Directive::new(
        "port_in_redirect",
        HSL,
        FLAG,
        set!(Settings.flag => content.port_in_redirect),
        "Includes the port in absolute redirects.",
    )
    .default("on"),
    Directive::new(
        "server_name_in_redirect",
        HSL,
        FLAG,
        set!(Settings.flag => content.server_name_in_redirect),
        "Uses the server name instead of the requested host in absolute redirects.",
    )
    .default("off"),
    Directive::new(
        "msie_padding",
        HSL,
        FLAG,
        set!(Settings.flag => content.msie_padding),
        "Pads short error pages for MSIE and Chrome.",
    )
    .default("on"),
    Directive::new(
        "msie_refresh",
        HSL,
        FLAG,
        set!(Settings.flag => content.msie_refresh),
        "Sends refreshes instead of redirects to MSIE.",
    )
    .default("off"),
];

fn root(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    forbid_roots(args)?;
    settings.content.root = args.text(0)?;
    settings.content.alias = false;
    settings.content.alias_prefix_len = None;
    Ok(())
}

fn alias(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    forbid_roots(args)?;
    settings.content.root = args.text(0)?;
    settings.content.alias = true;
    Ok(())
}

/// Rejects `$document_root` and `$realpath_root` in `root` and `alias`, which define these variables, as nginx does.
fn forbid_roots(args: &Arguments<'_>) -> SetterResult {
    let text = args.bytes(0);
    for name in ["$document_root", "$realpath_root", "${document_root}", "${realpath_root}"] {
        if text.windows(name.len()).any(|part| part == name.as_bytes()) {
            let message = format!("\"{name}\" cannot be used in \"{}\" directive", args.directive.name);
            return Err(args.error(0, message));
        }
    }
    Ok(())
}

fn index(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut settings.content.index);
    for (position, word) in args.words().iter().enumerate() {
        if word.text.is_empty() {
            return Err(args.error(position, "index \"\" in \"index\" directive is invalid"));
        }
        if word.text.starts_with(b"/") && position + 1 < args.len() {
            let message = "only the last index in \"index\" directive should be absolute";
            args.warn(position, message);
        }
        settings.content.index.push(word.to_text());
    }
    Ok(())
}

fn try_files(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let last = args.len() - 1;
    let word = &args.words()[last];
    let end = match word.text.as_slice() {
        [b'=', code @ ..] => TryFilesEnd::Code(read_code(args, last, code, 100..=999)?),
        [b'@', ..] => TryFilesEnd::Named(word.to_text()),
        _ => TryFilesEnd::Uri(word.to_text()),
    };
    let candidates = args.words()[..last].iter().map(crate::parsed::Word::to_text).collect();
    settings.content.try_files = Some(TryFiles { candidates, end, span: args.node.span });
    Ok(())
}

fn read_code(
    args: &Arguments<'_>,
    index: usize,
    digits: &[u8],
    range: std::ops::RangeInclusive<u16>,
) -> Result<u16, crate::diagnostic::Diagnostic> {
    let code = crate::number::parse_number(digits).ok().and_then(|code| u16::try_from(code).ok());
    code.filter(|code| range.contains(code))
        .ok_or_else(|| args.invalid(index, format!("a status from {} to {}", range.start(), range.end())))
}

fn error_page(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut settings.content.error_pages);
    let last = args.len() - 1;
    let mut codes_end = last;
    let mut answer = ErrorPageCode::Keep;
    if let [b'=', code @ ..] = args.bytes(last - 1) {
        codes_end -= 1;
        answer = match code {
            [] => ErrorPageCode::FromPage,
            code => ErrorPageCode::Fixed(read_code(args, last - 1, code, 100..=999)?),
        };
    }
    if codes_end == 0 {
        return Err(args.error(0, "\"error_page\" has no status").help("write `error_page 404 =200 /page;`"));
    }
    let mut codes = Vec::new();
    for index in 0..codes_end {
        let code = read_code(args, index, args.bytes(index), 300..=599)?;
        if code == 499 {
            return Err(args.invalid(index, "another status: 499 means that the client has disconnected"));
        }
        codes.push(code);
    }
    settings.content.error_pages.push(ErrorPage { codes, answer, target: args.text(last)? });
    Ok(())
}

fn types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut types = if args.first { Types::new() } else { Types::clone(&settings.content.types) };
    for line in args.node.block.as_deref().unwrap_or_default() {
        add_type_line(&mut types, line, args)?;
    }
    settings.content.types = Arc::new(types);
    Ok(())
}

fn add_type_line(types: &mut Types, line: &Node, args: &mut Arguments<'_>) -> SetterResult {
    use crate::diagnostic::Diagnostic;
    let media_type = &line.name.text;
    if line.block.is_some() {
        let message = "a line of \"types\" must be a media type followed by its extensions";
        return Err(Diagnostic::error(line.span, message));
    }
    for word in &line.args {
        let extension = word.text.to_ascii_lowercase();
        if let Some(old) = types.insert(extension, media_type.clone())
            && old != *media_type
        {
            let message = format!(
                "duplicate extension \"{}\", previously \"{}\"",
                String::from_utf8_lossy(&word.text),
                String::from_utf8_lossy(&old)
            );
            args.warnings.push(Diagnostic::warning(word.span, message));
        }
    }
    Ok(())
}

fn internal(settings: &mut Settings, _args: &mut Arguments<'_>) -> SetterResult {
    settings.content.internal = true;
    Ok(())
}

fn output_buffers(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.content.output_buffers = LargeBuffers { count: args.count(0)?, size: args.size(1)? };
    Ok(())
}

/// Returns the argument of a directive as text: variables that evaluate to a size, or the size in bytes. Returns an
/// error for an invalid size without variables.
pub(super) fn size_text(args: &Arguments<'_>, index: usize) -> Result<Text, crate::diagnostic::Diagnostic> {
    let text = args.text(index)?;
    if text.has_variables() {
        return Ok(text);
    }
    Ok(Text::new(args.size(index)?.to_string(), text.span))
}

fn limit_rate(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.content.limit_rate = size_text(args, 0)?;
    Ok(())
}

fn limit_rate_after(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.content.limit_rate_after = size_text(args, 0)?;
    Ok(())
}

fn if_modified_since(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [
        ("off", IfModifiedSince::Off),
        ("exact", IfModifiedSince::Exact),
        ("before", IfModifiedSince::Before),
    ];
    settings.content.if_modified_since = args.choice(0, &choices)?;
    Ok(())
}

fn server_tokens(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [("on", 0), ("off", 1), ("build", 2)];
    settings.content.server_tokens = match args.choice(0, &choices)? {
        0 => ServerTokens::On,
        1 => ServerTokens::Off,
        _ => ServerTokens::Build,
    };
    Ok(())
}
