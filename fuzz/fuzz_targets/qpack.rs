//! HTTP/3 connection with a client that fills the QPACK table: the result does not depend on the pieces, blocked
//! streams are bounded, and the decoder stream is valid.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::RequestHead;
use myriad_http::h1::HeadLimits;
use myriad_http::h3::{ClientUniStreams, ControlEvent, RequestEvent, RequestReader, UniStreamRole};

/// Returns the result of a connection as text: pieces of the encoder stream between complete requests.
fn run(input: &[u8], step: usize) -> String {
    let (mut peer, mut role, mut kept, mut seen) =
        (ClientUniStreams::default(), UniStreamRole::default(), Vec::new(), String::new());
    let (mut readers, mut head, limits) = (Vec::new(), RequestHead::new(), HeadLimits::default());
    // RFC 9204 §4.2: the type of the encoder stream, and the capacity of the table.
    assert_eq!(peer.receive(&mut role, &mut kept, &mut &b"\x02\x3f\xe1\x1f"[..]), Ok(ControlEvent::Partial));
    for (number, piece) in input.split(|byte| *byte == 0xfe).enumerate().take(64) {
        if number % 2 == 0 {
            for part in piece.chunks(step) {
                if let Err(error) = peer.receive(&mut role, &mut kept, &mut &part[..]) {
                    return seen + &format!("{error:?}");
                }
            }
            assert!(kept.len() <= 40_000);
        } else {
            let mut reader = RequestReader::new(number as u64 * 4);
            let frame = [&[1, 0x40 | (piece.len() >> 8) as u8, piece.len() as u8], piece].concat();
            if piece.len() < 0x4000 && !take(&mut reader, &frame, &limits, &mut head, &mut peer, &mut seen) {
                return seen;
            }
            readers.push(reader);
        }
        for reader in &mut readers {
            if reader.holds_section() && !take(reader, b"", &limits, &mut head, &mut peer, &mut seen) {
                return seen;
            }
        }
        assert!(peer.fields().output().len() < 4096);
    }
    for reader in &mut readers {
        reader.abandon(peer.fields());
    }
    assert!(!peer.fields().has_blocked());
    seen + &format!("{} {:x?}", peer.fields().inserted(), peer.fields().output())
}

fn take(
    reader: &mut RequestReader,
    mut input: &[u8],
    limits: &HeadLimits,
    head: &mut RequestHead,
    peer: &mut ClientUniStreams,
    seen: &mut String,
) -> bool {
    loop {
        match reader.receive(&mut input, limits, head, peer.fields()) {
            Ok(RequestEvent::Partial | RequestEvent::Blocked) => return true,
            Ok(RequestEvent::Request { malformed, .. }) => {
                let size: usize = head.fields().iter().map(|(name, value)| name.len() + value.len()).sum();
                assert!(size <= limits.total + 1024);
                seen.push_str(&format!("\n{malformed:?} {head:?}\n"));
            }
            Ok(RequestEvent::Data(_) | RequestEvent::Trailers) => {}
            Err(error) => {
                seen.push_str(&format!("{error:?}"));
                return false;
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((step, input)) = data.split_first() else { return };
    let (cut, whole) = (run(input, usize::from(*step).max(1)), run(input, usize::MAX));
    // The number of acknowledgements depends on the pieces; the requests do not.
    let said = |seen: &str| seen.rsplit_once('\n').map(|(said, _)| said.to_owned());
    assert_eq!(said(&cut), said(&whole));
});
