//! Messages of the gRPC health checking protocol (<https://github.com/grpc/grpc/blob/master/doc/health-checking.md>).

/// Path of gRPC health check requests: the `Check` method of `grpc.health.v1`.
pub const PATH: &[u8] = b"/grpc.health.v1.Health/Check";

/// Health status of a service that accepts requests.
pub const SERVING: u64 = 1;

/// Health status of a service that accepts no requests.
pub const NOT_SERVING: u64 = 2;

/// Length in bytes of the prefix of a gRPC message: compression flag (1 byte) and message length (4 bytes).
const PREFIX: usize = 5;

/// Encodes the body of a health check request for `service`, or for the whole server if the name is empty. A name
/// longer than about 2³¹ bytes is truncated.
pub fn encode_request(service: &[u8]) -> Vec<u8> {
    let service = &service[..service.len().min(0x7fff_0000)];
    let mut message = Vec::new();
    // Field 1 is a string; an empty string is omitted.
    if !service.is_empty() {
        message.push(0x0a);
        let mut left = service.len();
        while left > 0x7f {
            message.push(left as u8 | 0x80);
            left >>= 7;
        }
        message.push(left as u8);
        message.extend_from_slice(service);
    }
    let length = (message.len() as u32).to_be_bytes();
    [&[0], &length[..], &message].concat()
}

/// Decodes the health status in a response body, such as [`SERVING`]; 0 (unknown) if the message does not contain it,
/// and `None` if the body is not exactly one valid, uncompressed message.
pub fn decode_state(body: &[u8]) -> Option<u64> {
    let (prefix, mut message) = body.split_at_checked(PREFIX)?;
    let [0, length @ ..] = prefix else { return None };
    if u32::from_be_bytes(length.try_into().ok()?) as usize != message.len() {
        return None;
    }
    // A missing field means 0; of repeated fields, the last counts.
    let mut state = 0;
    while !message.is_empty() {
        let tag = decode_varint(&mut message)?;
        match (tag >> 3, tag & 7) {
            (1, 0) => state = decode_varint(&mut message)?,
            (_, 0) => drop(decode_varint(&mut message)?),
            (_, 1) => skip(&mut message, 8)?,
            (_, 2) => {
                let length = decode_varint(&mut message)?;
                skip(&mut message, length)?;
            }
            (_, 5) => skip(&mut message, 4)?,
            _ => return None,
        }
    }
    Some(state)
}

/// Decodes a varint and removes it from `message`: seven bits per byte, least significant group first. `None` if it is
/// incomplete or longer than ten bytes.
fn decode_varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn skip(message: &mut &[u8], count: u64) -> Option<()> {
    *message = message.get(usize::try_from(count).ok()?..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_asked_for_by_its_name() {
        assert_eq!(encode_request(b""), [0, 0, 0, 0, 0]);
        assert_eq!(encode_request(b"a.B"), b"\0\0\0\0\x05\x0a\x03a.B");
        let long = encode_request(&[b'x'; 300]);
        assert_eq!(long[..8], [0, 0, 0, 1, 47, 0x0a, 0xac, 0x02]);
        assert_eq!(long.len(), 8 + 300);
    }

    #[test]
    fn health_response_contains_serving_status() {
        for (message, expected) in [
            (&b""[..], 0),
            (b"\x08\x01", SERVING),
            (b"\x08\x02", NOT_SERVING),
            (b"\x08\x02\x08\x01", SERVING),
            (b"\x08\x81\x80\x00", SERVING),
            // Fields that a later version of the protocol may add.
            (b"\x12\x02hi\x08\x01\x19\0\0\0\0\0\0\0\0\x25\0\0\0\0\x30\x07", SERVING),
        ] {
            let body = [&[0, 0, 0, 0, message.len() as u8], message].concat();
            assert_eq!(decode_state(&body), Some(expected), "{message:?}");
        }
    }

    #[test]
    fn malformed_health_response_has_no_status() {
        for body in [
            &b""[..],
            b"\0\0\0\0",
            b"\x01\0\0\0\x02\x08\x01",
            b"\0\0\0\0\x03\x08\x01",
            b"\0\0\0\0\x01\x08\x01",
            b"\0\0\0\0\x01\x08",
            b"\0\0\0\0\x02\x0b\x01",
            b"\0\0\0\0\x02\x12\x05",
            b"\0\0\0\0\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\0\0\0\0\x0b\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(decode_state(body), None, "{body:?}");
        }
    }

    #[test]
    fn made_up_answers_do_no_harm() {
        let mut seed = 88_172_645_463_325_252_u64;
        let mut byte = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as u8
        };
        for _ in 0..20_000 {
            let length = byte() % 24;
            let mut body = vec![0, 0, 0, 0, length];
            body.extend((0..length).map(|_| byte() & if length % 2 == 0 { 0xff } else { 0x1f }));
            let _ = decode_state(&body);
        }
    }
}
