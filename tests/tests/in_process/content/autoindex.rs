//! Tests of the listings of `autoindex`.

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
fn names_are_strings_in_a_call() {
    let call = listed("call", &["\"); alert(1); (\""], "jsonp", "?callback=show").text;
    assert!(call.starts_with("/* callback */\r\nshow(["), "{call}");
    assert!(call.contains(r#""name":"\"); alert(1); (\"""#), "{call}");
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
    assert_eq!(
        listed("none", &[], "json", "?callback=alert(1)").status,
        200,
        "without JSONP, `callback` is ignored"
    );
}

#[test]
fn folder_without_index_is_listed_for_get_and_head_only() {
    let folder = TestFolder::new("autoindex-readers");
    folder.write("a.txt", "a");
    let rules = "autoindex on; location /closed/ { autoindex off; alias ./; }";
    let site = TestSite::in_folder(&folder.0, "root .;", rules);
    let status = |line: &str| send_request(&site, line, &[]).status;
    assert_eq!((status("GET /"), status("HEAD /")), (200, 200));
    assert_eq!(status("POST /"), 403, "only GET and HEAD are supported, as in nginx");
    assert_eq!(status("DELETE /"), 405);
    assert_eq!((status("GET /closed/"), status("GET /none/")), (403, 404));
    folder.write("index.html", "index");
    assert_eq!(send_request(&site, "GET /", &[]).text, "index");
}
