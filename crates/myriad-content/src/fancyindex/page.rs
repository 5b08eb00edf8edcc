//! HTML of a directory listing with a table.

use std::io::Write;

use myriad_base::calendar::{ZoneOffset, offset_name, write_time};
use myriad_http::uri::{EscapeKind, escape};
use myriad_log::local_time;

use super::order::{SortKey, SortOrder};
use super::settings::FancyindexSettings;
use crate::folder::{DirectoryItem, ItemKind};

/// Style sheet of the page; `fancyindex_css_href` adds another. Names that do not fit are truncated with an ellipsis.
const STYLE: &str = "\
body { margin: 1.5em; background: #fff; color: #222; font-family: system-ui, \"DejaVu Sans\", Verdana, sans-serif; }
h1 { font-size: 1.4em; font-weight: 600; overflow-wrap: anywhere; }
a { color: #a33; text-decoration: none; }
a:hover { color: #e33; text-decoration: underline; }
#list { width: 100%; border: 1px solid #bbb; border-collapse: collapse; }
#list th, #list td { padding: .25em .6em; text-align: left; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
#list th:first-child, #list .link { width: 100%; max-width: 0; }
#list th { background: #eee; border-bottom: 1px solid #bbb; }
#list tbody tr:nth-child(even) { background: #f5f5f5; }
#list .size, #list .date { font-variant-numeric: tabular-nums; }
@media (max-width: 34em) { #list th:last-child, #list .date { display: none; } }
";

/// Units in which file sizes are listed, the largest first.
const UNITS: [(&str, u64); 6] = [
    ("EiB", 1 << 60),
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// Appends the default header: the page up to the position of the directory path in its heading.
pub(super) fn head(uri: &[u8], css: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(
        b"<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
          <meta name=\"viewport\" content=\"width=device-width\">\n<style>\n",
    );
    out.extend_from_slice(STYLE.as_bytes());
    out.extend_from_slice(b"</style>\n");
    if !css.is_empty() {
        out.extend_from_slice(b"<link rel=\"stylesheet\" href=\"");
        escape(css, EscapeKind::Html, out);
        out.extend_from_slice(b"\">\n");
    }
    out.extend_from_slice(b"<title>Index of ");
    escape(uri, EscapeKind::Html, out);
    out.extend_from_slice(b"</title>\n</head>\n<body>\n<h1>Index of ");
}

/// Appends the default footer: the end of the page.
pub(super) fn foot(out: &mut Vec<u8>) {
    out.extend_from_slice(b"</body>\n</html>\n");
}

/// Appends the directory path with the end of the heading (unless `fancyindex_show_path off`), and the table.
pub(super) fn table(
    uri: &[u8],
    items: &[DirectoryItem],
    (rules, order): (&FancyindexSettings, SortOrder),
    out: &mut Vec<u8>,
) {
    if rules.show_path {
        escape(uri, EscapeKind::Html, out);
        out.extend_from_slice(b"</h1>\n");
    }
    out.extend_from_slice(b"<table id=\"list\">\n<thead>\n<tr>");
    for (by, span, title) in [
        (SortKey::Name, " colspan=\"2\"", "File Name"),
        (SortKey::Size, "", "File Size"),
        (SortKey::Date, "", "Date"),
    ] {
        let (up, down) = (SortOrder::new(by, false).arguments(), SortOrder::new(by, true).arguments());
        let cell = format!(
            "<th{span}><a href=\"{up}\">{title}</a>&nbsp;<a href=\"{down}\">&nbsp;&darr;&nbsp;</a></th>"
        );
        out.extend_from_slice(cell.as_bytes());
    }
    out.extend_from_slice(b"</tr>\n</thead>\n<tbody>\n");
    // Links to directories keep the order that the client requested.
    let order_arguments = if order == rules.order { "" } else { order.arguments() };
    if uri.len() > 1 && !rules.hide_parent {
        let row = format!(
            "<tr><td colspan=\"2\" class=\"link\"><a href=\"../{order_arguments}\">Parent directory/</a></td>\
             <td class=\"size\">-</td><td class=\"date\">-</td></tr>\n"
        );
        out.extend_from_slice(row.as_bytes());
    }
    for item in items {
        row(item, rules, order_arguments, out);
    }
    out.extend_from_slice(b"</tbody>\n</table>\n");
}

fn row(item: &DirectoryItem, rules: &FancyindexSettings, kept: &str, out: &mut Vec<u8>) {
    let is_folder = item.kind == ItemKind::Directory;
    out.extend_from_slice(b"<tr><td colspan=\"2\" class=\"link\"><a href=\"");
    escape(&item.name, EscapeKind::UriComponent, out);
    if is_folder {
        out.push(b'/');
        out.extend_from_slice(kept.as_bytes());
    }
    out.extend_from_slice(b"\" title=\"");
    escape(&item.name, EscapeKind::Html, out);
    out.extend_from_slice(b"\">");
    escape(&item.name, EscapeKind::Html, out);
    out.extend_from_slice(if is_folder { b"/" } else { b"" });
    out.extend_from_slice(b"</a></td><td class=\"size\">");
    // Writing to memory cannot fail.
    let _ = match (is_folder, rules.exact_size) {
        (true, _) => write!(out, "-"),
        (false, true) => write!(out, "{}", item.size),
        (false, false) => write!(out, "{}", rounded(item.size)),
    };
    out.extend_from_slice(b"</td><td class=\"date\">");
    date(item.modified_s, rules, out);
    out.extend_from_slice(b"</td></tr>\n");
}

fn date(modified_s: u64, rules: &FancyindexSettings, out: &mut Vec<u8>) {
    let minutes = if rules.local_time { local_time::offset_minutes(modified_s) } else { 0 };
    let name = if rules.local_time { offset_name(minutes) } else { "GMT".to_owned() };
    let mut text = Vec::new();
    write_time(rules.time_format.bytes(), modified_s, ZoneOffset { minutes, name: &name }, &mut text);
    escape(&text, EscapeKind::Html, out);
}

/// Formats a size in the largest unit in which it is at least 1, with one decimal; below 1 KiB in bytes.
fn rounded(size: u64) -> String {
    let Some((name, unit)) = UNITS.into_iter().find(|(_, unit)| size >= *unit) else {
        return format!("{size} B");
    };
    let tenths = (u128::from(size) * 10 + u128::from(unit / 2)) / u128::from(unit);
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_a_digit() {
        let shown = [0, 1023, 1024, 1536, 10 << 20, (5 << 30) + (1 << 29), u64::MAX].map(rounded);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "10.0 MiB", "5.5 GiB", "16.0 EiB"]);
    }
}
