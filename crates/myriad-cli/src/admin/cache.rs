//! `myriad cache ls|show|stats|leaks`: lists stored pages, counters, and findings of the leak guard of a running
//! server.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::process::ExitCode;

use myriad_admin::protocol::monitoring::LeaksRequest;
use myriad_admin::protocol::{
    AdminReply, AdminRequest, PageReport, PageRequest, PagesRequest, StatsRequest, render,
};
use myriad_base::digits::decimal;

use super::client::RunningServer;
use super::options::{CommandWords, KnownOption, too_much};
use super::output::{CommandOutput, exit_code_for};

/// Text that `myriad cache --help` prints.
pub const USAGE: &str = "\
Usage: myriad cache ls    [--zone Z] [--host H] [--match PATTERN]
                          [--sort hits|age|size] [--limit N] [--json]
       myriad cache show  URL|KEY [--zone Z] [--json]
       myriad cache stats [--zone Z] [--json]
       myriad cache leaks [--zone Z] [--forgive PAGE|all] [--json]

ls    lists the cached pages, in memory and on disk, one line per page
show  prints the details of a page: every variant with its encodings
stats prints the size and the usage of the zones, and the results of requests
leaks lists responses that contained data of a visitor, and were not shared

  --zone Z        : only this zone (default: all)
  --host H        : only pages of this host
  --match PATTERN : only pages whose URL or key matches PATTERN: with `*` as a
                    wildcard, the whole of it; without `*`, a part of it
  --sort BY       : hits (most first), age (oldest first), size (largest first)
  --limit N       : at most N pages
  --forgive PAGE  : remove the findings of this page (host and path as in the
                    list of leaks), so that it can be stored again;
                    all: those of all pages
  --json          : one JSON object per line

Which server:
  -c FILE         : configuration file of the server (default: the running one)
  -p PREFIX       : prefix of the server; of a `myriad wordpress`, its --prefix
  --socket PATH   : control socket of the server

Exit status: 0; 1 after an error; 2 if nothing was found, except for --forgive.
";

const OPTIONS: &[KnownOption] = &[
    ("--zone", true),
    ("--host", true),
    ("--match", true),
    ("--sort", true),
    ("--limit", true),
    ("--forgive", true),
    ("--json", false),
];

/// Order of `--sort`: most hits, oldest or largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListOrder {
    Hits,
    Age,
    Size,
}

/// Command line of `myriad cache`.
#[derive(Debug)]
pub(super) struct CacheCommand {
    words: CommandWords,
    request: AdminRequest,
    sort: Option<ListOrder>,
    /// Maximum number of listed pages (`--limit`); `None` for all. For a sorted list this command applies it, otherwise
    /// the server.
    limit: Option<usize>,
}

/// Parses the words after `myriad cache`; `None` if help is requested, an error text if a word is invalid.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<CacheCommand>, String> {
    let words = CommandWords::parse(arguments, OPTIONS)?;
    if words.help {
        return Ok(None);
    }
    let (zone, plain) = (words.value("--zone"), words.plain.as_slice());
    let sort = words.value("--sort").map(|by| sort(&by)).transpose()?;
    let limit = words.value("--limit").map(|text| count(&text)).transpose()?;
    let request = match plain.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ls"] => AdminRequest::Pages(PagesRequest {
            zone,
            host: words.value("--host"),
            matching: words.value("--match"),
            limit: limit.filter(|_| sort.is_none()),
            after: None,
        }),
        ["show", page] => AdminRequest::Page(PageRequest { page: page.to_owned(), zone, body: false }),
        ["stats"] => AdminRequest::Stats(StatsRequest { zone }),
        ["leaks"] => AdminRequest::Leaks(LeaksRequest { zone, forgive: words.value("--forgive") }),
        ["show"] => {
            return Err("cache show: give a URL, or a key from `myriad cache ls --json`".into());
        }
        [] => return Err("cache: give ls, show, stats or leaks (see myriad cache --help)".into()),
        ["ls" | "stats" | "leaks", other, ..] | ["show", _, other, ..] => {
            return Err(format!("cache {}: {}", plain[0], too_much(other, "cache")));
        }
        [other, ..] => {
            let near = match myriad_conf::nearest(other, ["ls", "show", "stats", "leaks"]) {
                Some(near) => format!(", did you mean \"{near}\"?"),
                None => String::new(),
            };
            return Err(format!(
                "cache: unknown command \"{other}\"; use ls, show, stats or leaks{near} (see myriad cache --help)"
            ));
        }
    };
    let of_list = ["--host", "--match", "--sort", "--limit"].into_iter().find(|option| words.has(option));
    if let (Some(option), false) = (of_list, matches!(request, AdminRequest::Pages(_))) {
        return Err(format!("cache {}: {option} is only valid with ls", plain[0]));
    }
    if words.has("--forgive") && !matches!(request, AdminRequest::Leaks(_)) {
        return Err(format!("cache {}: --forgive is only valid with leaks", plain[0]));
    }
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(Some(CacheCommand { words, request, sort, limit }))
}

fn sort(by: &str) -> Result<ListOrder, String> {
    match by {
        "hits" => Ok(ListOrder::Hits),
        "age" => Ok(ListOrder::Age),
        "size" => Ok(ListOrder::Size),
        _ => Err(format!("--sort \"{by}\" must be hits, age or size")),
    }
}

fn count(text: &str) -> Result<u64, String> {
    decimal(text).ok_or_else(|| format!("--limit \"{text}\" is not a number"))
}

pub(super) fn run(command: &CacheCommand) -> Result<ExitCode, String> {
    let running = RunningServer::find(&command.words.server, command.words.socket.as_deref())?;
    let json = command.words.has("--json");
    let mut output = CommandOutput::new();
    let any = match (&command.request, command.sort) {
        (AdminRequest::Pages(_), Some(sort)) => {
            let pages = sorted(&running, &command.request, sort, command.limit)?;
            for (index, page) in pages.iter().enumerate() {
                let reply = AdminReply::Page(Box::new(page.clone()));
                if !write(&mut output, &reply, index == 0, json, true)? {
                    break;
                }
            }
            !pages.is_empty()
        }
        (request, _) => {
            let is_list = matches!(request, AdminRequest::Pages(_));
            let mut replies = 0_u64;
            running.send_request(request, |reply| {
                replies += 1;
                write(&mut output, &reply, replies == 1, json, is_list)
            })?;
            replies > 0
        }
    };
    output.finish()?;
    let is_forgiven = matches!(&command.request, AdminRequest::Leaks(request) if request.forgive.is_some());
    if is_forgiven {
        return Ok(exit_code_for(true));
    }
    if !any {
        match &command.request {
            AdminRequest::Stats(_) => eprintln!("myriad: no cache zone matches"),
            AdminRequest::Page(asked) => eprintln!("myriad: page {} is not cached", asked.page),
            AdminRequest::Leaks(_) => eprintln!("myriad: no leaks found"),
            _ => eprintln!("myriad: no cached page matches"),
        }
    }
    Ok(exit_code_for(any))
}

/// Prints one report: as JSON, as a line of a list, or as a block of lines. Returns `false` if the output has been
/// closed by its reader.
fn write(
    output: &mut CommandOutput,
    reply: &AdminReply,
    first: bool,
    json: bool,
    is_list: bool,
) -> Result<bool, String> {
    if json {
        return output.line(&reply.json());
    }
    match reply {
        AdminReply::Page(page) if is_list => {
            Ok((!first || output.line(&render::list_head())?) && output.line(&render::list_line(page))?)
        }
        AdminReply::Page(page) => block(output, &render::page(page), first),
        AdminReply::Leak(leak) => output.line(&render::leak(leak)),
        AdminReply::Zone(zone) => block(output, &render::zone(zone), first),
        _ => Ok(true),
    }
}

/// Prints a text of several lines, preceded by an empty line unless it is the `first`. Returns `false` if the output
/// has been closed by its reader.
fn block(output: &mut CommandOutput, text: &str, first: bool) -> Result<bool, String> {
    Ok((first || output.line("")?) && output.line(text.trim_end())?)
}

/// Requests all pages and returns the first `limit` of them in the order `sort`; all if `limit` is `None`. With a
/// limit, at most `2 * limit` pages, or 1024 if that is more, are in memory at the same time.
fn sorted(
    running: &RunningServer,
    request: &AdminRequest,
    sort: ListOrder,
    limit: Option<usize>,
) -> Result<Vec<PageReport>, String> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut pages: Vec<PageReport> = Vec::new();
    let order = |pages: &mut Vec<PageReport>| {
        pages.sort_by_key(|page| {
            Reverse(match sort {
                ListOrder::Hits => page.hits,
                ListOrder::Age => page.age_ms(),
                ListOrder::Size => page.bytes,
            })
        });
        pages.truncate(limit);
    };
    running.send_request(request, |reply| {
        if let AdminReply::Page(page) = reply {
            pages.push(*page);
            if pages.len() >= limit.saturating_mul(2).max(1024) {
                order(&mut pages);
            }
        }
        Ok(true)
    })?;
    order(&mut pages);
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Option<CacheCommand>, String> {
        parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn a_list_is_cut_where_it_is_made_unless_it_is_sorted() {
        let request = |arguments: &[&str]| parsed(arguments).expect("sound").expect("no help").request;
        let list = request(&["ls", "--match", "*x*", "--limit", "5"]);
        assert!(matches!(list, AdminRequest::Pages(PagesRequest { limit: Some(5), matching: Some(_), .. })));
        let list = request(&["ls", "--sort=hits", "--limit=5"]);
        assert!(matches!(list, AdminRequest::Pages(PagesRequest { limit: None, .. })));
        assert!(matches!(request(&["show", "http://a/"]), AdminRequest::Page(_)));
        assert!(parsed(&["ls", "--help"]).expect("help").is_none());
    }

    #[test]
    fn invalid_cache_arguments_are_reported() {
        for (arguments, part) in [
            (&["ls", "x"][..], "unexpected argument"),
            (&[], "ls, show, stats or leaks"),
            (&["leaks", "x"], "unexpected argument"),
            (&["ls", "--forgive", "all"], "only valid with leaks"),
            (&["show"], "give a URL"),
            (&["ls", "--sort", "name"], "hits, age or size"),
            (&["ls", "--limit", "many"], "not a number"),
            (&["stats", "--limit", "3"], "only valid with ls"),
        ] {
            assert!(parsed(arguments).expect_err(part).contains(part), "{arguments:?}");
        }
    }
}
