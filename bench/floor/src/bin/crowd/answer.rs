//! The part of HTTP/1 that a client needs to detect a complete response.

/// Returns whether `answer` is a complete response: a head and a body, delimited by Content-Length or chunks. A body that is
/// delimited by the close of the connection is never complete.
pub fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = head_length(answer) else { return false };
    let body = &answer[head..];
    if let Some(length) = field(answer, "content-length") {
        return length.parse().is_ok_and(|length: usize| body.len() >= length);
    }
    let chunked =
        field(answer, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
    chunked && chunks_ended(body)
}

/// Returns whether the status is 200.
pub fn is_ok(answer: &[u8]) -> bool {
    answer.starts_with(b"HTTP/1.1 200 ") || answer.starts_with(b"HTTP/1.0 200 ")
}

/// Returns the value of the first header `name`, if the head is complete.
pub fn field<'a>(answer: &'a [u8], name: &str) -> Option<&'a str> {
    let head = std::str::from_utf8(&answer[..head_length(answer)?]).ok()?;
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn head_length(answer: &[u8]) -> Option<usize> {
    answer.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4)
}

/// Returns whether the chunks include the last one. Trailers are not supported, since no server of the benchmark sends any.
fn chunks_ended(mut body: &[u8]) -> bool {
    loop {
        let Some(end) = body.windows(2).position(|two| two == b"\r\n") else { return false };
        let size = std::str::from_utf8(&body[..end]).ok().and_then(|line| line.split(';').next());
        let Some(size) = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok()) else {
            return false;
        };
        let Some(rest) = body.get(end + 2..).and_then(|rest| rest.get(size..)) else { return false };
        if !rest.starts_with(b"\r\n") {
            return false;
        }
        if size == 0 {
            return true;
        }
        body = &rest[2..];
    }
}

#[cfg(test)]
mod tests {
    use super::{field, is_ok, is_whole};

    /// Asserts that the response is complete with its last byte and not earlier.
    fn assert_whole_at_its_end(answer: &[u8]) {
        for length in 0..answer.len() {
            assert!(!is_whole(&answer[..length]), "whole after {length} of {} bytes", answer.len());
        }
        assert!(is_whole(answer));
    }

    #[test]
    fn content_length_delimits_body() {
        assert_whole_at_its_end(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    }

    #[test]
    fn an_empty_body_ends_with_the_head() {
        assert_whole_at_its_end(b"HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n");
    }

    #[test]
    fn chunks_end_with_the_empty_one_and_not_with_bytes_that_look_like_it() {
        assert_whole_at_its_end(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n0\r\n\r\n\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
        );
    }

    #[test]
    fn a_body_without_framing_is_never_whole() {
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\nhello"));
    }

    #[test]
    fn a_field_is_found_whatever_the_case_of_its_name() {
        let answer = b"HTTP/1.1 200 OK\r\nX-Done-At: 1700000000.25\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(field(answer, "x-done-at"), Some("1700000000.25"));
        assert_eq!(field(answer, "done-at"), None);
    }

    #[test]
    fn only_200_is_ok() {
        assert!(is_ok(b"HTTP/1.1 200 OK\r\n"));
        assert!(!is_ok(b"HTTP/1.1 2000 OK\r\n"));
        assert!(!is_ok(b"HTTP/1.1 502 Bad Gateway\r\n"));
    }
}
