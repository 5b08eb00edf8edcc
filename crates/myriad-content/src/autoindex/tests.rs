use super::html::{AutoindexLayout, page};
use crate::folder::{DirectoryItem, ItemKind};

use super::settings::AutoindexSettings;
use super::{json, xml};
use myriad_serve::testing::{PhaseResult, TestFolder, TestSite, send_request};

/// Returns the listing of a directory with these files, in a format. `target` is appended to the URI of the directory,
/// after its slash.
fn listed(name: &str, files: &[&str], format: &str, target: &str) -> PhaseResult {
    let folder = TestFolder::new(&format!("autoindex-{name}"));
    let shown = folder.0.join("a<b>&");
    std::fs::create_dir_all(&shown).expect("a folder");
    for file in files {
        std::fs::write(shown.join(file), file).expect("a file");
    }
    let site =
        TestSite::in_folder(&folder.0, "root .; autoindex on;", &format!("autoindex_format {format};"));
    send_request(&site, &format!("GET /a%3Cb%3E%26/{target}"), &[])
}

fn file(name: &[u8]) -> DirectoryItem {
    DirectoryItem { kind: ItemKind::File, name: name.to_vec(), modified_s: 0, size: 1 }
}

fn html(name: &[u8], utf8: bool) -> String {
    let look = AutoindexLayout { utf8, rules: AutoindexSettings::default() };
    String::from_utf8_lossy(&page(b"/", &[file(name)], &look)).into_owned()
}

#[test]
fn names_are_text_in_a_page_and_not_markup() {
    let evil = "\"><img src=x onerror=alert(1)>'&lt;";
    let text = listed("markup", &[evil], "html", "").text;
    assert!(!text.contains("<img") && !text.contains("<b>"), "{text}");
    assert!(text.contains("<title>Index of /a&lt;b&gt;&amp;/</title>"), "{text}");
    let link = "<a href=\"%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E%27%26lt%3B\">\
                &quot;&gt;&lt;img src=x onerror=alert(1)&gt;'&amp;lt;</a>";
    assert!(text.contains(link), "{text}");
}

#[test]
fn link_leads_into_the_folder_and_to_no_other_place() {
    let href = |name: &str| {
        let page = html(name.as_bytes(), true);
        let link = page.split("<a href=\"").nth(2).expect("the second link");
        link.split('"').next().expect("an address").to_owned()
    };
    // Unescaped, the first would be a scheme, the second a query, the third a fragment, and the fourth a host in some
    // browsers.
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
    assert!(html(&[0xff; 60], true).contains("..&gt;</a>"), "what is no UTF-8 is counted by bytes");
}

#[test]
fn names_are_strings_in_an_array() {
    // RFC 8259 section 7.
    let text = String::from_utf8(json::array(&[file(b"a\"\\\r\n\t\x01/<")], None)).expect("text");
    assert!(text.contains(r#"{ "name":"a\"\\\r\n\t\u0001/<", "#), "{text}");
    let call = listed("call", &["\"); alert(1); (\""], "jsonp", "?callback=show").text;
    assert!(call.starts_with("/* callback */\r\nshow(["), "{call}");
    assert!(call.contains(r#""name":"\"); alert(1); (\"""#), "{call}");
}

#[test]
fn names_are_text_in_a_document() {
    let text = String::from_utf8(xml::document(&[file(b"]]><file>&\"")])).expect("text");
    assert!(text.contains(">]]&gt;&lt;file&gt;&amp;&quot;</file>"), "{text}");
}

#[test]
fn function_that_is_called_is_a_name_or_the_request_is_refused() {
    let status = |target: &str| listed("callback", &[], "jsonp", target).status;
    assert_eq!(status("?callback=a.b_1"), 200);
    for callback in ["alert(1)", "a;b", "a%28b", "a%0ab", "<script>", "a b", "a,b", "a'", "\u{e4}"] {
        assert_eq!(status(&format!("?callback={callback}")), 400, "{callback}");
    }
    // Of several arguments `callback`, the first is used and checked.
    assert_eq!(status("?callback=alert(1)&callback=a"), 400);
    assert!(listed("first", &[], "jsonp", "?callback=a&callback=b").text.contains("\na("));
    assert_eq!(listed("none", &[], "json", "?callback=alert(1)").status, 200, "nothing is called");
}

#[test]
fn folder_without_index_is_listed_for_get_and_head_only() {
    let folder = TestFolder::new("autoindex-readers");
    folder.write("a.txt", "a");
    let rules = "autoindex on; location /closed/ { autoindex off; alias ./; }";
    let site = TestSite::in_folder(&folder.0, "root .;", rules);
    let status = |line: &str| send_request(&site, line, &[]).status;
    assert_eq!((status("GET /"), status("HEAD /")), (200, 200));
    assert_eq!(status("POST /"), 403, "as in nginx, whose list is for GET and HEAD");
    assert_eq!(status("DELETE /"), 405);
    assert_eq!((status("GET /closed/"), status("GET /none/")), (403, 404));
    folder.write("index.html", "index");
    assert_eq!(send_request(&site, "GET /", &[]).text, "index");
}
