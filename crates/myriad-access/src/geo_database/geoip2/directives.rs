//! Directives `geoip2*`, and parsers of their arguments and of the lines of a block.

use myriad_conf::number::parse_millis;
use myriad_conf::registry::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, block};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Node, Text, Word, set};

use super::settings::{DatabaseConf, DatabaseMetadata, Geoip2Settings, VariableConf, VariableValue};

const HTTP: Contexts = Contexts::HTTP;
const LINE: &str =
    "write `$name [default=VALUE] [source=$ADDRESS] KEY ...`, as in `$country country iso_code`";

/// Directives of the module geoip2.
pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "geoip2",
        HTTP.or(Contexts::STREAM),
        block(1, 1),
        Set::Settings(database),
        "Variables with values from an address database (`.mmdb`).",
    )
    .repeats()
    .differs("the database is read into memory; an unknown field of `metadata` is an error"),
    Directive::new(
        "geoip2_proxy",
        HTTP,
        ONE,
        Set::Settings(|settings, args| settings.feature_mut::<Geoip2Settings>().proxies.add(args)),
        "Trusted proxies that may report the client address.",
    )
    .repeats(),
    Directive::new(
        "geoip2_proxy_recursive",
        HTTP,
        FLAG,
        set!(Feature<Geoip2Settings>.flag => proxies.recursive),
        "Skips trusted addresses in `X-Forwarded-For`.",
    )
    .default("off"),
];

fn database(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let path = args.text(0)?;
    let databases = &mut settings.feature_mut::<Geoip2Settings>().databases;
    if let Some(other) = databases.iter().find(|other| other.path.bytes() == path.bytes()) {
        let message = format!("duplicate geoip2 database \"{}\"", path.lossy());
        return Err(Diagnostic::error(args.node.span, message)
            .related(other.span, "first named here")
            .help("move the lines of both blocks into one block"));
    }
    let mut database = DatabaseConf { path, reload_ms: 0, variables: Vec::new(), span: args.node.span };
    for line in args.node.block.iter().flatten() {
        if line.name.text == b"auto_reload" {
            database.reload_ms = interval(line)?;
        } else {
            database.variables.push(variable(line)?);
        }
    }
    databases.push(database);
    Ok(())
}

fn interval(line: &Node) -> Result<u64, Diagnostic> {
    let [word] = line.args.as_slice() else {
        return Err(Diagnostic::error(line.span, "invalid number of arguments for auto_reload")
            .help("for example `auto_reload 5m;`"));
    };
    parse_millis(&word.text).map_err(|_| {
        let shown = String::from_utf8_lossy(&word.text);
        Diagnostic::error(word.span, format!("invalid interval for auto_reload \"{shown}\""))
            .help("it must be a time, such as 5m")
    })
}

fn variable(line: &Node) -> Result<VariableConf, Diagnostic> {
    let name = &line.name;
    let shown = String::from_utf8_lossy(&name.text);
    let bare = match name.text.strip_prefix(b"$") {
        Some(bare) if !bare.is_empty() && line.block.is_none() => bare,
        _ => return Err(Diagnostic::error(name.span, format!("invalid setting \"{shown}\"")).help(LINE)),
    };
    let shown = match line.args.as_slice() {
        [first, rest @ ..] if first.text == b"metadata" => VariableValue::Metadata(metadata(line, rest)?),
        words => value(line, words)?,
    };
    Ok(VariableConf { variable: Text::new(bare, name.span), value: shown })
}

fn metadata(line: &Node, rest: &[Word]) -> Result<DatabaseMetadata, Diagnostic> {
    match rest {
        [field] if field.text == b"build_epoch" => Ok(DatabaseMetadata::BuildEpoch),
        [field] if field.text == b"last_check" => Ok(DatabaseMetadata::LastCheck),
        [field] if field.text == b"last_change" => Ok(DatabaseMetadata::LastChange),
        _ => Err(Diagnostic::error(line.span, "invalid field of metadata")
            .help("it is one of `build_epoch`, `last_check`, `last_change`")),
    }
}

/// Parses the arguments of a variable: `[default=VALUE] [source=$ADDRESS] KEY ...`.
fn value(line: &Node, words: &[Word]) -> Result<VariableValue, Diagnostic> {
    let (mut default, mut source) = (None, None);
    let options = words.iter().take_while(|word| word.text.contains(&b'='));
    let path = &words[options.clone().count()..];
    for word in options {
        let again = |name: &str| Diagnostic::error(word.span, format!("{name} has already been declared"));
        if let Some(value) = word.text.strip_prefix(b"default=") {
            if default.replace(value.to_vec()).is_some() {
                return Err(again("default"));
            }
        } else if let Some(value) = word.text.strip_prefix(b"source=") {
            if !value.starts_with(b"$") || value.len() < 2 {
                return Err(Diagnostic::error(word.span, "the source is not a variable")
                    .help("write for example source=$remote_addr"));
            }
            if source.replace(Text::new(value, word.span)).is_some() {
                return Err(again("source"));
            }
        } else {
            let shown = String::from_utf8_lossy(&word.text);
            return Err(Diagnostic::error(word.span, format!("invalid setting \"{shown}\"")).help(LINE));
        }
    }
    let path: Option<Vec<String>> =
        path.iter().map(|word| String::from_utf8(word.text.clone()).ok()).collect();
    match path {
        Some(path) if !path.is_empty() => {
            Ok(VariableValue::Value { default: default.unwrap_or_default(), source, path })
        }
        _ => Err(Diagnostic::error(line.span, "a key of the database is missing")
            .help("`mmdblookup --file FILE --ip 8.8.8.8` lists the keys, such as country iso_code")),
    }
}
