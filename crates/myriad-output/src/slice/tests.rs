use myriad_net::ResponseBody;

use super::part::part;
use myriad_exchange::exchange::{ContentResponse, Slice};

fn error(range: &str, slice: Slice) -> String {
    let mut answer = ContentResponse::new(206, ResponseBody::None);
    answer.field(b"Content-Range", range.as_bytes());
    part(&answer, slice, true).err().unwrap_or_default()
}

#[test]
fn piece_must_be_the_one_that_was_asked_for() {
    let slice = Slice { start: 4, size: 4 };
    assert_eq!(error("bytes 4-7/10", slice), "");
    assert_eq!(error("bytes 4-7/*", slice), "no complete length in slice response");
    assert_eq!(error("bytes 0-3/10", slice), "unexpected range in slice response: 0-4, expected: 4-8");
    assert_eq!(error("bytes 4-6/10", slice), "unexpected range in slice response: 4-7, expected: 4-8");
    assert_eq!(error("nonsense", slice), "invalid range in slice response");
    assert_eq!(error("bytes 8-9/10", Slice { start: 8, size: 4 }), "", "the last slice may be shorter");
}
