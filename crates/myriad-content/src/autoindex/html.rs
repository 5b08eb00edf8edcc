//! Directory listing as an HTML page, in nginx's layout.

use std::io::Write;

use myriad_base::calendar::format_time_local;
use myriad_http::uri::{EscapeKind, escape};
use myriad_log::local_time;

use crate::folder::{DirectoryItem, ItemKind};

use super::settings::AutoindexSettings;

/// Width of the column of file names in a directory listing, in characters; longer names are truncated.
const WIDTH: usize = 50;
/// Number of characters that are shown of a name with more than [`WIDTH`] characters, before `..>`.
const SHORTENED: usize = WIDTH - 3;

/// Layout of the HTML page of a directory listing.
pub(super) struct AutoindexLayout {
    /// Set if the page is in UTF-8: the width of a name is its number of characters instead of bytes.
    pub(super) utf8: bool,
    pub(super) rules: AutoindexSettings,
}

/// Returns the HTML page that lists `items`, the entries of the directory at `uri`.
pub(super) fn page(uri: &[u8], items: &[DirectoryItem], look: &AutoindexLayout) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + items.len() * 160);
    out.extend_from_slice(b"<html>\r\n<head><title>Index of ");
    escape(uri, EscapeKind::Html, &mut out);
    out.extend_from_slice(b"</title></head>\r\n<body>\r\n<h1>Index of ");
    escape(uri, EscapeKind::Html, &mut out);
    out.extend_from_slice(b"</h1><hr><pre><a href=\"../\">../</a>\r\n");
    for item in items {
        line(item, look, &mut out);
    }
    out.extend_from_slice(b"</pre><hr></body>\r\n</html>\r\n");
    out
}

fn line(item: &DirectoryItem, look: &AutoindexLayout, out: &mut Vec<u8>) {
    let slash: &[u8] = if item.kind == ItemKind::Directory { b"/" } else { b"" };
    out.extend_from_slice(b"<a href=\"");
    escape(&item.name, EscapeKind::UriComponent, out);
    out.extend_from_slice(slash);
    out.extend_from_slice(b"\">");
    let (shown, width) = displayed_name(&item.name, look.utf8);
    escape(shown, EscapeKind::Html, out);
    if shown.len() < item.name.len() {
        out.extend_from_slice(b"..&gt;</a>");
    } else {
        let slash = if width < WIDTH { slash } else { b"" };
        out.extend_from_slice(slash);
        out.extend_from_slice(b"</a>");
        out.resize(out.len() + WIDTH - width - slash.len(), b' ');
    }
    date(item.modified_s, look.rules.local_time, out);
    // Writing to memory cannot fail.
    let _ = match (item.kind, look.rules.exact_size) {
        (ItemKind::Directory, true) => write!(out, "{:>19}", '-'),
        (ItemKind::Directory, false) => write!(out, "{:>7}", '-'),
        (_, true) => write!(out, "{:>19}", item.size),
        (_, false) => write!(out, "{}", rounded(item.size)),
    };
    out.extend_from_slice(b"\r\n");
}

/// Returns the part of a name that is shown (the first [`SHORTENED`] columns if it has more than [`WIDTH`]), and its
/// width in columns: the number of characters if `utf8` is set and the name is valid UTF-8, otherwise of bytes.
fn displayed_name(name: &[u8], utf8: bool) -> (&[u8], usize) {
    let text = if utf8 { std::str::from_utf8(name).ok() } else { None };
    let Some(text) = text else {
        let length = if name.len() > WIDTH { SHORTENED } else { name.len() };
        return (&name[..length], length);
    };
    let width = text.chars().count();
    if width <= WIDTH {
        return (name, width);
    }
    let end = text.char_indices().nth(SHORTENED).map_or(name.len(), |(at, _)| at);
    (&name[..end], SHORTENED)
}

/// Appends the time as ` 28-Sep-1970 12:00 `, in local time if `local` is set, otherwise in UTC.
fn date(seconds: u64, local: bool, out: &mut Vec<u8>) {
    let offset = if local { local_time::offset_minutes(seconds) } else { 0 };
    // The formatted text is like `28/Sep/1970:12:00:00 +0000`.
    let text = format_time_local(seconds, offset);
    for part in [b" ", &text[..2], b"-", &text[3..6], b"-", &text[7..11], b" ", &text[12..17], b" "] {
        out.extend_from_slice(part);
    }
}

/// Formats a size in seven columns: in bytes up to 9999, otherwise rounded to K, M or G.
fn rounded(size: u64) -> String {
    let scales = [(1 << 30, 1 << 30, 'G'), (1 << 20, 1 << 20, 'M'), (10_000, 1 << 10, 'K')];
    match scales.into_iter().find(|(least, _, _)| size >= *least) {
        Some((_, unit, sign)) => format!("{:>6}{sign}", (size + unit / 2) / unit),
        None => format!(" {size:>6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::AutoindexFormat;
    use super::*;

    fn item(kind: ItemKind, name: &str, size: u64) -> DirectoryItem {
        DirectoryItem { kind, name: name.into(), modified_s: 23_328_000, size }
    }

    fn rules(exact_size: bool) -> AutoindexSettings {
        AutoindexSettings { on: true, format: AutoindexFormat::Html, exact_size, local_time: false }
    }

    #[test]
    fn page_is_laid_out_in_columns() {
        let items = [item(ItemKind::Directory, "a<b", 0), item(ItemKind::File, "c d", 12)];
        let page = page(b"/x&y/", &items, &AutoindexLayout { utf8: false, rules: rules(true) });
        let expected = format!(
            "<html>\r\n<head><title>Index of /x&amp;y/</title></head>\r\n<body>\r\n<h1>Index of /x&amp;y/</h1><hr><pre>\
             <a href=\"../\">../</a>\r\n\
             <a href=\"a%3Cb/\">a&lt;b/</a>{:46} 28-Sep-1970 00:00 {:>19}\r\n\
             <a href=\"c%20d\">c d</a>{:47} 28-Sep-1970 00:00 {:>19}\r\n\
             </pre><hr></body>\r\n</html>\r\n",
            "", "-", "", 12
        );
        assert_eq!(String::from_utf8(page).unwrap(), expected);
    }

    #[test]
    fn long_names_are_shortened_by_characters_where_these_are_known() {
        let long = "ä".repeat(51);
        assert_eq!(displayed_name(long.as_bytes(), true), (&long.as_bytes()[..94], 47));
        assert_eq!(displayed_name(long.as_bytes(), false), (&long.as_bytes()[..47], 47));
        assert_eq!(displayed_name(&long.as_bytes()[..100], true).1, 50);
        let plain = "x".repeat(50);
        assert_eq!(displayed_name(plain.as_bytes(), false), (plain.as_bytes(), 50));
    }

    #[test]
    fn sizes_are_rounded_to_seven_columns() {
        let sizes = [0, 9999, 10_000, 10_751, 1 << 20, (3 << 20) / 2, 1 << 30];
        let shown = sizes.map(rounded);
        assert_eq!(shown, ["      0", "   9999", "    10K", "    10K", "     1M", "     2M", "     1G"]);
    }

    fn html(name: &[u8], utf8: bool) -> String {
        let file = DirectoryItem { kind: ItemKind::File, name: name.to_vec(), modified_s: 0, size: 1 };
        let look = AutoindexLayout { utf8, rules: AutoindexSettings::default() };
        String::from_utf8_lossy(&page(b"/", &[file], &look)).into_owned()
    }

    #[test]
    fn link_leads_into_the_folder_and_to_no_other_place() {
        let href = |name: &str| {
            let page = html(name.as_bytes(), true);
            let link = page.split("<a href=\"").nth(2).expect("the second link");
            link.split('"').next().expect("an address").to_owned()
        };
        // Unescaped, they would be interpreted as a scheme, a query, a fragment and (in some browsers) a host.
        assert_eq!(href("javascript:alert(1)"), "javascript%3Aalert%281%29");
        assert_eq!(href("?a"), "%3Fa");
        assert_eq!(href("#a"), "%23a");
        assert_eq!(href("\\\\evil.test"), "%5C%5Cevil.test");
        assert_eq!(href("100%41"), "100%2541");
        assert_eq!(href("ä"), "%C3%A4");
    }

    #[test]
    fn shortened_name_ends_between_its_characters() {
        let page = html("<".repeat(60).as_bytes(), true);
        assert!(page.contains(&format!(">{}..&gt;</a>", "&lt;".repeat(47))), "{page}");
        let page = html("€".repeat(60).as_bytes(), true);
        assert!(page.contains(&format!(">{}..&gt;</a>", "€".repeat(47))), "{page}");
        assert!(
            html(&[0xff; 60], true).contains("..&gt;</a>"),
            "names that are not UTF-8 are counted in bytes"
        );
    }
}
