//! Parts of an answer (RFC 9110 section 14): one as 206, several as `multipart/byteranges`.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use myriad_http::Known;
use myriad_http::ranges::{Ranges, parse_ranges};
use myriad_net::ResponseBody;
use myriad_policy::{Encoding, StoredValidators, if_range_holds};

use super::Answer;
use crate::exchange::Request;

/// Which parts the client gets, judged before anything of the answer is changed.
pub(crate) fn plan(request: &Request, answer: &Answer, validators: &StoredValidators<'_>) -> Ranges {
    let max_ranges = request.place().files.max_ranges;
    let fields = request.head.fields();
    let (Some(value), Some(length)) = (fields.known(Known::Range), answer.body.length()) else {
        return Ranges::Ignore;
    };
    if !answer.ranges || max_ranges == 0 {
        return Ranges::Ignore;
    }
    if let Some(condition) = fields.known(Known::IfRange)
        && !if_range_holds(condition, validators, request.received_ms / 1000)
    {
        return Ranges::Ignore;
    }
    parse_ranges(value, length, max_ranges)
}

/// Cuts the planned parts out of a whole answer; the error is the `Content-Range` of a 416.
pub(crate) fn apply(answer: &mut Answer, plan: &Ranges) -> Result<(), String> {
    let length = answer.body.length().unwrap_or(0);
    match plan {
        Ranges::Ignore => {}
        Ranges::Unsatisfiable => return Err(format!("bytes */{length}")),
        Ranges::Satisfiable(ranges) => match &ranges[..] {
            [range] => {
                answer.body = part(&answer.body, range);
                answer.status = 206;
                let value = format!("bytes {}-{}/{length}", range.start, range.end - 1);
                answer.field(b"Content-Range", value.as_bytes());
            }
            ranges => several(answer, ranges, length),
        },
    }
    Ok(())
}

/// One stretch of a body that is wholly at hand.
fn part(body: &ResponseBody, range: &Range<u64>) -> ResponseBody {
    match body {
        ResponseBody::Full(bytes) => {
            ResponseBody::Full(bytes.slice(range.start as usize..range.end as usize))
        }
        ResponseBody::Parts(parts) => ResponseBody::Parts(slice_parts(parts, range)),
        ResponseBody::File { file, offset, .. } => ResponseBody::File {
            file: Arc::clone(file),
            offset: offset + range.start,
            length: range.end - range.start,
        },
        ResponseBody::None | ResponseBody::Stream(..) => ResponseBody::None,
    }
}

fn slice_parts(parts: &[Bytes], range: &Range<u64>) -> Vec<Bytes> {
    let mut at = 0;
    let mut out = Vec::new();
    for bytes in parts {
        let end = at + bytes.len() as u64;
        let from = range.start.max(at);
        let to = range.end.min(end);
        if from < to {
            out.push(bytes.slice((from - at) as usize..(to - at) as usize));
        }
        at = end;
    }
    out
}

/// Largest stretch of a file that several ranges may read into memory; beyond it the whole is sent.
const SEVERAL_FROM_FILE: u64 = 8 << 20;

fn several(answer: &mut Answer, ranges: &[Range<u64>], length: u64) {
    use std::fmt::Write;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static SERIAL: AtomicU64 = AtomicU64::new(1);
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    if matches!(answer.body, ResponseBody::File { .. }) && total > SEVERAL_FROM_FILE {
        return;
    }
    let boundary = format!("{:020}", SERIAL.fetch_add(1, Relaxed));
    let mut out = Vec::new();
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\n");
        if let Some(media_type) = &answer.media_type {
            head.push_str("Content-Type: ");
            head.push_str(&String::from_utf8_lossy(media_type));
            head.push_str("\r\n");
        }
        let _ = write!(head, "Content-Range: bytes {}-{}/{length}\r\n\r\n", range.start, range.end - 1);
        out.push(Bytes::from(head));
        match part(&answer.body, range) {
            ResponseBody::Full(bytes) => out.push(bytes),
            ResponseBody::Parts(parts) => out.extend(parts),
            ResponseBody::File { file, offset, length } => match read_part(&file, offset, length) {
                Some(bytes) => out.push(bytes),
                None => return,
            },
            ResponseBody::None | ResponseBody::Stream(..) => {}
        }
    }
    out.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    answer.body = ResponseBody::Parts(out);
    answer.status = 206;
    answer.media_type = Some(format!("multipart/byteranges; boundary={boundary}").into_bytes().into());
}

fn read_part(file: &std::os::fd::OwnedFd, offset: u64, length: u64) -> Option<Bytes> {
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(file, &mut bytes[filled..], offset + filled as u64) {
            Ok(0) | Err(_) => return None,
            Ok(count) => filled += count,
        }
    }
    Some(Bytes::from(bytes))
}

/// The validators of an answer, in the encoding that is about to be sent.
pub(crate) fn validators(answer: &Answer, etags: bool) -> StoredValidators<'_> {
    let level = match (&answer.source, answer.coding) {
        (_, myriad_encode::Coding::Identity) => 0,
        (super::Source::Page(page), coding) => {
            crate::runtime::alternative(page, coding).map_or(0, |alternative| alternative.meta)
        }
        _ => 0,
    };
    StoredValidators {
        tag: answer.tag(etags),
        encoding: Encoding { coding: answer.coding, level },
        last_modified_s: answer.modified_s(),
    }
}
