//! Registry rows of `server`, `listen`, `server_name`, `location` and `limit_except`.

use super::{
    Arguments, BlockKind, Contexts, Directive, Set, SetterResult, at_least, block,
    listen::{listen, stream_listen},
};
use crate::{diagnostic::Diagnostic, model::ServerConf, model::ServerName, text::Text};

const SERVER: Contexts = Contexts::SERVER;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "server",
        Contexts::HTTP.or(Contexts::STREAM),
        block(0, 0),
        Set::Block(BlockKind::Server),
        "A virtual server.",
    )
    .repeats(),
    Directive::new("listen", SERVER, at_least(1), Set::Server(listen), "Address to listen on.")
        .computed("`*:80`, or `*:8000` if port 80 is not permitted")
        .repeats(),
    Directive::new(
        "listen",
        Contexts::STREAM_SERVER,
        at_least(1),
        Set::Server(stream_listen),
        "TCP or UDP address to listen on.",
    )
    .repeats(),
    Directive::new(
        "server_name",
        SERVER.or(Contexts::STREAM_SERVER),
        at_least(1),
        Set::Server(server_name),
        "Names of a virtual server.",
    )
    .default("\"\"")
    .repeats(),
    Directive::new(
        "location",
        SERVER.or(Contexts::LOCATION),
        block(1, 2),
        Set::Block(BlockKind::Location),
        "Settings for matching URIs.",
    )
    .repeats(),
    Directive::new(
        "limit_except",
        Contexts::LOCATION,
        block(1, usize::MAX),
        Set::Block(BlockKind::LimitExcept),
        "Settings for all methods except those listed.",
    ),
];

fn server_name(server: &mut ServerConf, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut server.names);
    for index in 0..args.len() {
        let name = read_name(args, index)?;
        if args.bytes(index).contains(&b'/') && !matches!(name, ServerName::Regex(_)) {
            args.warn(index, format!("server name \"{}\" has suspicious symbols", args.text(index)?.lossy()));
        }
        if args.first && index == 0 {
            let mut text = args.text(0)?;
            if text.value.starts_with(b".") {
                text.value.remove(0);
            }
            if !matches!(name, ServerName::Regex(_)) {
                text.value.make_ascii_lowercase();
            }
            server.primary_name = text;
        }
        server.names.push(name);
    }
    Ok(())
}

fn read_name(args: &Arguments<'_>, index: usize) -> Result<ServerName, Diagnostic> {
    let text = args.text(index)?;
    if let Some(regex) = text.value.strip_prefix(b"~") {
        if regex.is_empty() {
            return Err(args.error(index, "empty regex in server name \"~\""));
        }
        return Ok(ServerName::Regex(Text::new(regex, text.span)));
    }
    if text.value == b"$hostname" {
        return Ok(ServerName::Hostname);
    }
    let invalid = || {
        args.error(index, format!("server name \"{}\" is invalid", text.lossy())).help(
            "`*` is allowed only at the start before a dot, or at the end after a dot; a regex starts with `~`",
        )
    };
    let name = text.as_str().ok_or_else(invalid)?.to_lowercase();
    let (plain, kind): (&str, fn(String) -> ServerName) = if let Some(rest) = name.strip_prefix("*.") {
        (rest, |name| ServerName::WildcardPrefix(name[1..].to_owned()))
    } else if let Some(rest) = name.strip_prefix('.') {
        (rest, ServerName::Dot)
    } else if let Some(rest) = name.strip_suffix(".*") {
        (rest, |name| ServerName::WildcardSuffix(name[..name.len() - 1].to_owned()))
    } else {
        (name.as_str(), ServerName::Exact)
    };
    let bare_wildcard = plain.is_empty() && !name.is_empty();
    if plain.contains('*') || bare_wildcard || plain.contains('\0') {
        return Err(invalid());
    }
    Ok(kind(name))
}
