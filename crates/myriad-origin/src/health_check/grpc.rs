//! Health checks by the gRPC health checking protocol: the call and the evaluation of its response.

use bytes::Bytes;
use myriad_base::digits::decimal;
use myriad_conf::settings::GrpcHealth;
use myriad_http::{Fields, Known, ResponseHead, grpc_health};

/// Parameters of a gRPC health check.
pub(super) struct GrpcRule {
    /// Name of the service to check; empty for the whole server.
    service: Box<[u8]>,
    /// gRPC status that counts as healthy in addition to 0; 0 if there is none. Status 0 (OK) is healthy only with a
    /// message that reports SERVING.
    status: u32,
}

impl GrpcRule {
    pub(super) fn of(check: &GrpcHealth) -> Self {
        Self { service: check.service.bytes().into(), status: check.status }
    }

    /// Returns the encoded request message of the gRPC health check.
    pub(super) fn message(&self) -> Bytes {
        grpc_health::encode_request(&self.service).into()
    }

    /// Evaluates a response; the error explains why the server is unhealthy. `trailers` is empty if the response
    /// consists of a head only, which then contains the gRPC status.
    pub(super) fn judge(&self, head: &ResponseHead, body: &[u8], trailers: &Fields) -> Result<(), String> {
        if head.status != 200 {
            return Err(format!("it responded with status {}", head.status));
        }
        let media_type = head.fields.known(Known::ContentType).unwrap_or_default();
        if !media_type.starts_with(b"application/grpc") {
            return Err("its response is not a gRPC response".to_owned());
        }
        let status_field = |name: &[u8]| trailers.get(name).or_else(|| head.fields.get(name));
        let status = status_field(b"grpc-status").and_then(decimal::<u32>);
        match status {
            None => Err("its response has no gRPC status".to_owned()),
            Some(0) => serves(body),
            Some(status) if status == self.status => Ok(()),
            Some(status) => {
                let why = status_field(b"grpc-message").unwrap_or_default().escape_ascii();
                Err(format!("it responded with gRPC status {status}, \"{why}\""))
            }
        }
    }
}

fn serves(body: &[u8]) -> Result<(), String> {
    match grpc_health::decode_state(body) {
        Some(grpc_health::SERVING) => Ok(()),
        Some(grpc_health::NOT_SERVING) => Err("it reports that it is not serving".to_owned()),
        Some(_) => Err("it does not report that it is serving".to_owned()),
        None => Err("its response is not a grpc.health.v1 message".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for a response with this gRPC status in its trailers, or in its head.
    fn judged(rule: &GrpcRule, in_head: bool, status: &str, message: &[u8]) -> String {
        let (mut head, mut trailers) = (ResponseHead::new(200), Fields::new());
        head.fields.push(b"content-type", b"application/grpc+proto");
        let place = if in_head { &mut head.fields } else { &mut trailers };
        if !status.is_empty() {
            place.push(b"grpc-status", status.as_bytes());
            place.push(b"grpc-message", b"no \nsuch");
        }
        rule.judge(&head, message, &trailers).err().unwrap_or_default()
    }

    #[test]
    fn a_server_is_well_where_it_serves() {
        let rule = GrpcRule { service: Box::default(), status: 0 };
        for (in_head, status, message, expected) in [
            (false, "0", &b"\0\0\0\0\x02\x08\x01"[..], ""),
            (false, "0", b"\0\0\0\0\x02\x08\x02", "it reports that it is not serving"),
            (false, "0", b"\0\0\0\0\0", "it does not report that it is serving"),
            (false, "0", b"", "its response is not a grpc.health.v1 message"),
            (true, "12", b"", "it responded with gRPC status 12, \"no \\nsuch\""),
            (false, "", b"\0\0\0\0\x02\x08\x01", "its response has no gRPC status"),
            (false, "zero", b"\0\0\0\0\x02\x08\x01", "its response has no gRPC status"),
        ] {
            assert_eq!(judged(&rule, in_head, status, message), expected);
        }
    }

    #[test]
    fn another_status_may_be_well_too() {
        let rule = GrpcRule { service: Box::default(), status: 12 };
        assert_eq!(judged(&rule, true, "12", b""), "");
        assert_eq!(judged(&rule, false, "0", b"\0\0\0\0\x02\x08\x01"), "");
        assert!(judged(&rule, true, "14", b"").starts_with("it responded with gRPC status 14"));
    }

    #[test]
    fn an_answer_that_is_not_of_grpc_is_none() {
        let rule = GrpcRule { service: Box::default(), status: 0 };
        let mut head = ResponseHead::new(200);
        head.fields.push(b"content-type", b"text/html");
        let judge = |head: &ResponseHead| rule.judge(head, b"", &Fields::new()).err().unwrap_or_default();
        assert_eq!(judge(&head), "its response is not a gRPC response");
        assert_eq!(judge(&ResponseHead::new(502)), "it responded with status 502");
    }
}
