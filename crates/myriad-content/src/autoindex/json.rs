//! Directory listing as a JSON array, or as a JSONP call with this array.

use std::io::Write;

use myriad_base::calendar::write_http_date;
use myriad_conf::model::LogEscape;
use myriad_log::write_escaped;

use crate::folder::{DirectoryItem, ItemKind};

/// Returns a directory listing as a JSON array; with `callback`, a call of this function with the array.
pub(super) fn array(items: &[DirectoryItem], callback: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + items.len() * 120);
    if let Some(callback) = callback {
        // The response must not start with bytes that the client has chosen.
        out.extend_from_slice(b"/* callback */\r\n");
        out.extend_from_slice(callback);
        out.push(b'(');
    }
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\r\n" } else { b",\r\n" });
        object(item, &mut out);
    }
    out.extend_from_slice(b"\r\n]");
    if callback.is_some() {
        out.extend_from_slice(b");");
    }
    out
}

fn object(item: &DirectoryItem, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{ \"name\":\"");
    write_escaped(LogEscape::Json, &item.name, out);
    // Writing to memory cannot fail.
    let _ = write!(out, "\", \"type\":\"{}\", \"mtime\":\"", item.kind.as_str());
    write_http_date(item.modified_s, out);
    out.push(b'"');
    if item.kind == ItemKind::File {
        let _ = write!(out, ", \"size\":{}", item.size);
    }
    out.extend_from_slice(b" }");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_an_array_or_a_call() {
        let item = |kind, name: &str| DirectoryItem { kind, name: name.into(), modified_s: 0, size: 7 };
        let items = [item(ItemKind::Directory, "a\"\u{1}"), item(ItemKind::File, "b")];
        let expected = "[\r\n{ \"name\":\"a\\\"\\u0001\", \"type\":\"directory\", \"mtime\":\"Thu, 01 Jan 1970 00:00:00 GMT\" },\r\n\
                        { \"name\":\"b\", \"type\":\"file\", \"mtime\":\"Thu, 01 Jan 1970 00:00:00 GMT\", \"size\":7 }\r\n]";
        assert_eq!(String::from_utf8(array(&items, None)).unwrap(), expected);
        assert_eq!(array(&[], None), b"[\r\n]");
        assert_eq!(array(&[], Some(b"f")), b"/* callback */\r\nf([\r\n]);");
    }

    #[test]
    fn names_are_strings_in_an_array() {
        // RFC 8259 section 7.
        let name = b"a\"\\\r\n\t\x01/<".to_vec();
        let file = DirectoryItem { kind: ItemKind::File, name, modified_s: 0, size: 1 };
        let text = String::from_utf8(array(&[file], None)).expect("text");
        assert!(text.contains(r#"{ "name":"a\"\\\r\n\t\u0001/<", "#), "{text}");
    }
}
