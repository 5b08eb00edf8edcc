//! Parser of the `cluster` block.

use myriad_conf::number::parse_millis;
use myriad_conf::{Diagnostic, Node, Text, Word};

use super::server_url::ServerUrl;
use super::settings::{ClusterConf, DEFAULT_PARTITION, DEFAULT_RECEIPT_TIMEOUT_MS, PartitionPolicy};

const LINES: &str = "valid directives: server, username, password_file, sentinel_password_file, trusted_certificate, \
                     secret_file, node, partition, receipt_timeout, pages";
const SERVER: &str = "write `server redis://10.0.0.5:6379;`, `server rediss://10.0.0.5:6380;` for TLS, \
                      `server sentinel://10.0.0.5:26379/MASTER;`, or `server sentinels://10.0.0.5:26379/MASTER;` for \
                      TLS";
const SECRET: &str = "create the file once with `openssl rand -hex 32 > /etc/myriad/cluster.secret`, copy it to all \
                      nodes, and add `secret_file /etc/myriad/cluster.secret;`";
/// Maximum length of the names of clusters and nodes, in bytes.
const MAX_NAME: usize = 64;
/// Minimum of `partition serve`, in milliseconds: the time after which a node detects a partition.
const MIN_SERVE_MS: u64 = 5000;
/// Maximum of `receipt_timeout`, in milliseconds.
const MAX_RECEIPT_TIMEOUT_MS: u64 = 60_000;

/// Parses a `cluster` block into its settings, with defaults for missing lines. Fails if a line is unknown, invalid or
/// repeated (except `server`), or if `server` or `secret_file` is missing.
pub(super) fn parse_cluster(node: &Node) -> Result<ClusterConf, Diagnostic> {
    let name = node.args.first().map_or_else(|| Err(Diagnostic::error(node.span, "missing name")), name)?;
    let mut servers = Vec::new();
    let (mut username, mut password_file, mut sentinel_password_file) = (None, None, None);
    let mut trusted_certificate = None;
    let (mut secret_file, mut own_name, mut partition, mut receipt_timeout) = (None, None, None, None);
    let mut pages = None;
    for line in node.block.iter().flatten() {
        match &*line.name.text {
            b"server" => servers.push(server(single_value(line)?)?),
            b"username" => set(&mut username, line, |line| text(single_value(line)?))?,
            b"password_file" => set(&mut password_file, line, file)?,
            b"sentinel_password_file" => set(&mut sentinel_password_file, line, file)?,
            b"trusted_certificate" => set(&mut trusted_certificate, line, file)?,
            b"secret_file" => set(&mut secret_file, line, file)?,
            b"node" => set(&mut own_name, line, |line| self::name(single_value(line)?))?,
            b"partition" => set(&mut partition, line, self::partition)?,
            b"receipt_timeout" => set(&mut receipt_timeout, line, timeout)?,
            b"pages" => set(&mut pages, line, switch)?,
            other => {
                let message =
                    format!("unknown directive \"{}\" in \"cluster\"", String::from_utf8_lossy(other));
                return Err(Diagnostic::error(line.name.span, message).help(LINES));
            }
        }
    }
    if servers.is_empty() {
        return Err(Diagnostic::error(node.span, "\"cluster\" requires \"server\"").help(SERVER));
    }
    refuse_unused(&servers, sentinel_password_file.as_ref(), trusted_certificate.as_ref())?;
    let Some(secret_file) = secret_file else {
        return Err(Diagnostic::error(node.span, "\"cluster\" requires \"secret_file\"").help(SECRET));
    };
    Ok(ClusterConf {
        span: node.span,
        name,
        servers,
        username,
        password_file,
        sentinel_password_file,
        trusted_certificate,
        secret_file,
        node: own_name,
        partition: partition.unwrap_or(DEFAULT_PARTITION),
        receipt_timeout_ms: receipt_timeout.unwrap_or(DEFAULT_RECEIPT_TIMEOUT_MS),
        shares_pages: pages.unwrap_or(true),
    })
}

/// Returns an error if a file is set that no connection to these servers uses.
fn refuse_unused(
    servers: &[ServerUrl],
    sentinel_password_file: Option<&Text>,
    trusted_certificate: Option<&Text>,
) -> Result<(), Diagnostic> {
    if let Some(file) = sentinel_password_file
        && servers.iter().all(|server| server.sentinel_master.is_none())
    {
        let message = "\"sentinel_password_file\" requires a \"server\" with sentinel:// or sentinels://";
        return Err(Diagnostic::error(file.span, message)
            .help("remove the line, or set the password of Valkey with `password_file`"));
    }
    if let Some(file) = trusted_certificate
        && servers.iter().all(|server| !server.tls)
    {
        let message = "\"trusted_certificate\" requires a \"server\" with rediss:// or sentinels://";
        return Err(Diagnostic::error(file.span, message)
            .help("remove the line, or write `rediss://` or `sentinels://` to connect with TLS"));
    }
    Ok(())
}

/// Parses the value of a line that may occur once.
fn set<T>(
    value: &mut Option<T>,
    line: &Node,
    parse: impl FnOnce(&Node) -> Result<T, Diagnostic>,
) -> Result<(), Diagnostic> {
    if value.is_some() {
        let name = String::from_utf8_lossy(&line.name.text);
        return Err(Diagnostic::error(line.span, format!("duplicate \"{name}\" in \"cluster\"")));
    }
    *value = Some(parse(line)?);
    Ok(())
}

/// Returns the argument of a line; an error unless the line has exactly one argument and no block.
fn single_value(line: &Node) -> Result<&Word, Diagnostic> {
    match line.args.as_slice() {
        [word] if line.block.is_none() => Ok(word),
        _ => Err(arguments(line, "it requires one argument")),
    }
}

fn arguments(line: &Node, help: &str) -> Diagnostic {
    let name = String::from_utf8_lossy(&line.name.text);
    let message = format!("invalid number of arguments in \"{name}\" directive of \"cluster\"");
    Diagnostic::error(line.span, message).help(help)
}

fn invalid(word: &Word, what: &str) -> Diagnostic {
    Diagnostic::error(word.span, format!("invalid {what} \"{}\"", String::from_utf8_lossy(&word.text)))
}

fn text(word: &Word) -> Result<String, Diagnostic> {
    let text = String::from_utf8(word.text.clone()).ok().filter(|text| !text.is_empty());
    text.ok_or_else(|| invalid(word, "text").help("it must not be empty, and valid UTF-8"))
}

/// Parses the name of a cluster or node.
fn name(word: &Word) -> Result<String, Diagnostic> {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_name = (1..=MAX_NAME).contains(&word.text.len()) && word.text.iter().all(is_allowed);
    if !is_name {
        return Err(
            invalid(word, "name").help("a name has 1 to 64 characters: letters, digits, `-`, `_` and `.`")
        );
    }
    text(word)
}

fn file(line: &Node) -> Result<Text, Diagnostic> {
    single_value(line).map(|word| Text::new(&*word.text, word.span))
}

fn server(word: &Word) -> Result<ServerUrl, Diagnostic> {
    let text = text(word)?;
    ServerUrl::parse(&text).map_err(|why| {
        // The address may contain a password, so it is not shown.
        Diagnostic::error(word.span, format!("invalid address in \"server\" directive of \"cluster\": {why}"))
            .help(SERVER)
    })
}

fn partition(line: &Node) -> Result<PartitionPolicy, Diagnostic> {
    let help = "write `partition serve 10m;` or `partition strict;`";
    match line.args.as_slice() {
        [word] if *word.text == *b"strict" => Ok(PartitionPolicy::Strict),
        [word] if *word.text == *b"serve" => Ok(DEFAULT_PARTITION),
        [word, bound] if *word.text == *b"serve" => match parse_millis(&bound.text) {
            Ok(ms) if ms >= MIN_SERVE_MS => Ok(PartitionPolicy::Serve(ms)),
            Ok(_) => Err(Diagnostic::error(bound.span, "the time in \"partition serve\" is shorter than 5s")
                .help("a partition is detected after 5s; for less, write `partition strict;`")),
            _ => Err(invalid(bound, "time").help(help)),
        },
        [word, ..] => Err(invalid(word, "value").help(help)),
        [] => Err(arguments(line, help)),
    }
}

fn switch(line: &Node) -> Result<bool, Diagnostic> {
    let word = single_value(line)?;
    match &*word.text.to_ascii_lowercase() {
        b"on" => Ok(true),
        b"off" => Ok(false),
        _ => Err(invalid(word, "value").help("it must be `on` or `off`")),
    }
}

fn timeout(line: &Node) -> Result<u64, Diagnostic> {
    let word = single_value(line)?;
    let ms = parse_millis(&word.text).ok().filter(|ms| *ms <= MAX_RECEIPT_TIMEOUT_MS);
    ms.ok_or_else(|| invalid(word, "time").help("it must be a time of at most 60s, such as 1s"))
}
