//! Tests of `gzip_static` and similar directives.

use myriad_encode::Coding;
use myriad_exchange::exchange::ContentResponse;
use myriad_serve::testing::{TestFolder, TestSite, immediate_answer, send_request};

/// Site whose root contains files with these names; each file contains its own name.
struct PrecompressedSite(TestSite, TestFolder);

impl PrecompressedSite {
    fn new(name: &str, files: &[&str], rules: &str) -> Self {
        let folder = TestFolder::new(&format!("packed-{name}"));
        for file in files {
            folder.write(file, file);
        }
        let http = "root .; open_file_cache max=10; open_file_cache_valid 60s; types { text/plain txt; }";
        Self(TestSite::in_folder(&folder.0, http, rules), folder)
    }

    /// Returns the status and the name of the file that was sent; an empty name unless the status is 200.
    fn sent(&self, target: &str, accepted: &str) -> (u16, String) {
        let reached = send_request(&self.0, &format!("GET {target}"), &[("Accept-Encoding", accepted)]);
        let sent = if reached.status == 200 { reached.text } else { String::new() };
        (reached.status, sent)
    }

    /// Returns the response to a second request, for which the file is in memory.
    fn answer(&self, target: &str, accepted: &str) -> ContentResponse {
        self.sent(target, accepted);
        let fields = [("Accept-Encoding", accepted)];
        let mut exchange =
            self.0.received_request(myriad_http::HttpVersion::Http11, ("GET", target), &fields);
        immediate_answer(&mut exchange).expect("the file is in memory")
    }
}

const ALL: &str = "gzip_static on; brotli_static on; zstd_static on;";

#[test]
fn best_copy_that_the_visitor_takes_is_sent() {
    let packed = PrecompressedSite::new("best", &["a.txt", "a.txt.gz", "a.txt.br", "a.txt.zst"], ALL);
    for (accepted, sent) in [
        ("gzip, br, zstd", "a.txt.br"),
        ("gzip, zstd", "a.txt.zst"),
        ("gzip", "a.txt.gz"),
        ("GZIP", "a.txt.gz"),
        ("x-gzip", "a.txt.gz"),
        ("*", "a.txt.br"),
        // RFC 9110 section 12.4.2: a weight of 0 means not acceptable.
        ("br;q=0, gzip;q=0.1", "a.txt.gz"),
        ("gzip;q=0.000", "a.txt"),
        ("br;q=0, *;q=0", "a.txt"),
        ("identity", "a.txt"),
        ("deflate", "a.txt"),
        ("", "a.txt"),
    ] {
        assert_eq!(packed.sent("/a.txt", accepted), (200, sent.to_owned()), "{accepted}");
    }
}

#[test]
fn only_codings_that_are_switched_on_are_looked_for() {
    let packed = PrecompressedSite::new("on", &["a.txt", "a.txt.gz", "a.txt.br"], "brotli_static on;");
    assert_eq!(packed.sent("/a.txt", "gzip").1, "a.txt");
    assert_eq!(packed.sent("/a.txt", "gzip, br").1, "a.txt.br");
}

#[test]
fn copy_stands_for_a_file_that_is_not_there() {
    let packed = PrecompressedSite::new("alone", &["a.txt.gz"], ALL);
    assert_eq!(packed.sent("/a.txt", "gzip"), (200, "a.txt.gz".to_owned()));
    assert_eq!(packed.sent("/a.txt", "br").0, 404);
}

#[test]
fn gzip_static_always_sends_copy_to_every_client() {
    let packed =
        PrecompressedSite::new("always", &["a.txt", "a.txt.gz"], "gzip_static always; gzip_vary on;");
    assert_eq!(packed.sent("/a.txt", "identity").1, "a.txt.gz");
    let answer = packed.answer("/a.txt", "br");
    assert_eq!(
        (answer.coding, answer.varies_by_encoding),
        (Coding::Gzip, false),
        "all clients get the same representation"
    );
}

#[test]
fn folder_that_is_called_like_a_copy_is_none() {
    let packed = PrecompressedSite::new("folder", &["a.txt"], ALL);
    std::fs::create_dir_all(packed.1.0.join("a.txt.gz")).expect("a folder");
    assert_eq!(packed.sent("/a.txt", "gzip"), (200, "a.txt".to_owned()));
}

#[test]
fn copy_has_type_of_original_and_its_content_coding() {
    let packed = PrecompressedSite::new(
        "type",
        &["a.txt", "a.txt.gz"],
        "gzip_static on; default_type application/gzip;",
    );
    let answer = packed.answer("/a.txt", "gzip");
    assert_eq!((answer.media_type.as_deref(), answer.coding), (Some(&b"text/plain"[..]), Coding::Gzip));
    // A request for the compressed file by name receives a file without a coding.
    let copy = packed.answer("/a.txt.gz", "gzip");
    assert_eq!((copy.media_type.as_deref(), copy.coding), (Some(&b"application/gzip"[..]), Coding::Identity));
}

#[test]
fn vary_is_sent_to_clients_without_the_compressed_copy() {
    // RFC 9110 section 12.5.5: downstream caches must not mix the responses of different clients.
    let files = ["a.txt", "a.txt.gz", "b.txt"];
    let packed = PrecompressedSite::new("varies", &files, "gzip_static on; gzip_vary on;");
    assert!(packed.answer("/a.txt", "identity").varies_by_encoding);
    assert!(packed.answer("/a.txt", "gzip").varies_by_encoding);
    assert!(!packed.answer("/b.txt", "gzip").varies_by_encoding, "there is no compressed file");
}
