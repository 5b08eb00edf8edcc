//! Directory listing as an XML document.

use std::io::Write;

use myriad_base::calendar::format_time_iso8601;
use myriad_http::uri::{EscapeKind, escape};

use crate::folder::{DirectoryItem, ItemKind};

/// Returns a directory listing as an XML document, with times in UTC and sizes in bytes.
pub(super) fn document(items: &[DirectoryItem]) -> Vec<u8> {
    let mut out = b"<?xml version=\"1.0\"?>\r\n<list>\r\n".to_vec();
    for item in items {
        element(item, &mut out);
    }
    out.extend_from_slice(b"</list>\r\n");
    out
}

fn element(item: &DirectoryItem, out: &mut Vec<u8>) {
    let kind = item.kind.as_str();
    // Writing to memory cannot fail.
    let _ = write!(out, "<{kind} mtime=\"");
    // The formatted text is like `1970-09-28T12:00:00+00:00`.
    out.extend_from_slice(&format_time_iso8601(item.modified_s, 0)[..19]);
    out.extend_from_slice(b"Z\"");
    if item.kind == ItemKind::File {
        let _ = write!(out, " size=\"{}\"", item.size);
    }
    out.push(b'>');
    escape(&item.name, EscapeKind::Html, out);
    let _ = write!(out, "</{kind}>\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_an_element() {
        let item = |kind, name: &str| DirectoryItem { kind, name: name.into(), modified_s: 1, size: 7 };
        let items = [item(ItemKind::Directory, "a&b"), item(ItemKind::File, "c"), item(ItemKind::Other, "d")];
        let expected = "<?xml version=\"1.0\"?>\r\n<list>\r\n\
                        <directory mtime=\"1970-01-01T00:00:01Z\">a&amp;b</directory>\r\n\
                        <file mtime=\"1970-01-01T00:00:01Z\" size=\"7\">c</file>\r\n\
                        <other mtime=\"1970-01-01T00:00:01Z\">d</other>\r\n\
                        </list>\r\n";
        assert_eq!(String::from_utf8(document(&items)).unwrap(), expected);
    }

    #[test]
    fn names_are_text_in_a_document() {
        let text = String::from_utf8(document(&[DirectoryItem {
            kind: ItemKind::File,
            name: b"]]><file>&\"".to_vec(),
            modified_s: 0,
            size: 1,
        }]))
        .expect("text");
        assert!(text.contains(">]]&gt;&lt;file&gt;&amp;&quot;</file>"), "{text}");
    }
}
