//! Malicious range requests.

use myriad_tests::{Place, Request, Server};

const LENGTH: usize = 50_000;

/// Maximum length of a response, in bytes: the whole file, and the final boundary of `multipart/byteranges`.
const MOST: usize = LENGTH + 1000;

#[test]
fn ranges_never_come_to_more_than_the_whole() {
    let place = Place::new();
    place.write("html/file.txt", vec![b'x'; LENGTH]);
    let server = Server::start(place, "server { listen 127.0.0.1:@PORT@; root @DIR@/html; }");
    let range =
        |value: String| server.fetch(&Request::get("/file.txt").field("Range", &format!("bytes={value}")));
    // Apache Killer (CVE-2011-3192): each range overlaps all previous ranges.
    let overlapping: Vec<String> =
        (0..1300).map(|end| format!("5-{end}")).filter(|part| part.len() > 3).collect();
    let many = vec!["0-"; 1000];
    let single: Vec<String> = (0..1000).map(|at| format!("{at}-{at}")).collect();
    for value in
        [overlapping.join(","), many.join(","), single.join(","), format!("0-{LENGTH},-1"), "0-1,1-2".into()]
    {
        let answer = range(value.clone());
        let length = answer.body.len();
        assert!(
            length <= MOST && [200, 206, 416].contains(&answer.status),
            "{} {length} {value:.60}",
            answer.status
        );
    }
    // A few legitimate ranges receive a partial response.
    assert_eq!(range("0-9,20-29".into()).status, 206);
}
