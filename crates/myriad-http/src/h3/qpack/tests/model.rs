//! Simulation: the reference encoder and the decoder exchange streams whose bytes arrive in random order.

use fastrand::Rng;

use super::super::{MAX_BLOCKED_STREAMS, MAX_TABLE_CAPACITY, QpackDecoder, QpackError};
use super::read;
use super::reference::Reference;

type Fields = Vec<(String, String)>;

#[derive(Default)]
struct Conversation {
    encoder: Reference,
    decoder: QpackDecoder,
    partial: Vec<u8>,
    /// Number of bytes of the encoder stream that have arrived.
    arrived: usize,
    /// Waiting sections: stream, bytes, expected fields and required insert count.
    waiting: Vec<(u64, Vec<u8>, Fields, u64)>,
    streams: u64,
}

impl Conversation {
    fn arrive(&mut self, most: usize) {
        let end = (self.arrived + most).min(self.encoder.stream.len());
        let mut piece = &self.encoder.stream[self.arrived..end];
        self.decoder.instructions(&mut self.partial, &mut piece).expect("sound instructions");
        assert!(piece.is_empty());
        self.arrived = end;
        let inserted = self.decoder.inserted();
        let (ready, waiting) = self.waiting.drain(..).partition(|(.., until)| *until <= inserted);
        self.waiting = waiting;
        let ready: Vec<_> = ready;
        for (stream, section, fields, _) in ready {
            self.decoder.stream_unblocked();
            assert_eq!(read(&mut self.decoder, stream, &section), Ok(fields));
        }
    }

    fn ask(&mut self, chance: &mut Rng) {
        self.streams += 4;
        let (section, fields) = self.encoder.section(self.streams, chance);
        match read(&mut self.decoder, self.streams, &section) {
            Err(QpackError::Blocked(until)) => {
                assert!(until > self.decoder.inserted());
                self.waiting.push((self.streams, section, fields, until));
            }
            outcome => assert_eq!(outcome, Ok(fields)),
        }
    }

    fn give_up(&mut self, chance: &mut Rng) {
        if !self.waiting.is_empty() {
            let (stream, ..) = self.waiting.swap_remove(chance.usize(..self.waiting.len()));
            self.decoder.stream_unblocked();
            self.decoder.cancel(stream);
        }
    }

    fn deliver_acknowledgements(&mut self) {
        let sent = std::mem::take(self.decoder.output());
        self.encoder.process_decoder_stream(&sent);
    }
}

fn converse(seed: u64) {
    let mut chance = Rng::with_seed(seed);
    let mut talk = Conversation::default();
    for _ in 0..400 {
        match chance.usize(..12) {
            0 => talk.encoder.resize(&mut chance),
            1..=4 => {
                let length = if chance.usize(..20) == 0 { 3000 } else { chance.usize(..200) };
                let value: String = (0..length).map(|_| (b'a' + chance.usize(..26) as u8) as char).collect();
                talk.encoder.insert(&value, &mut chance);
            }
            5..=7 if talk.waiting.len() < MAX_BLOCKED_STREAMS => talk.ask(&mut chance),
            8..=9 => {
                let most = chance.usize(..300);
                talk.arrive(most);
            }
            10 => talk.deliver_acknowledgements(),
            _ if chance.usize(..4) == 0 => talk.give_up(&mut chance),
            _ => {}
        }
    }
    talk.arrive(usize::MAX / 2);
    talk.deliver_acknowledgements();
    assert!(talk.waiting.is_empty() && !talk.decoder.has_blocked() && talk.encoder.is_settled());
    assert!(talk.partial.is_empty());
}

fn seeds() -> u64 {
    std::env::var("MYRIAD_MODEL_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(300)
}

/// Checks that every section decodes to the original fields, in any order of arrival, and that the encoder gets all
/// acknowledgements.
#[test]
fn sections_mean_what_the_encoder_meant_in_whatever_order_things_come() {
    for seed in 0..seeds() {
        converse(seed);
    }
}

/// Checks that random changes of valid data cause no panic and no unbounded use of memory.
#[test]
fn no_bytes_make_the_decoder_panic_or_hold_more_than_its_table() {
    for seed in 0..seeds() {
        let mut chance = Rng::with_seed(seed);
        let mut encoder = Reference::default();
        let mut decoder = QpackDecoder::default();
        let (mut kept, mut sent) = (Vec::new(), 0);
        for stream in 0..60 {
            encoder.resize(&mut chance);
            for _ in 0..chance.usize(..9) {
                encoder.insert("a value of some length", &mut chance);
            }
            let (mut section, _) = encoder.section(stream, &mut chance);
            encoder.known = usize::MAX;
            let mut pending = encoder.stream[sent..].to_vec();
            sent = encoder.stream.len();
            for bytes in [&mut section, &mut pending] {
                if chance.usize(..3) == 0 && !bytes.is_empty() {
                    let at = chance.usize(..bytes.len());
                    bytes[at] ^= 1 << chance.usize(..8);
                }
            }
            let outcome = decoder.instructions(&mut kept, &mut &pending[..]);
            assert!(decoder.table_size() <= MAX_TABLE_CAPACITY);
            if outcome.is_err() {
                break;
            }
            // A partial instruction: two Huffman-coded strings and their lengths.
            assert!(kept.len() <= 2 * 4 * MAX_TABLE_CAPACITY + 12);
            match read(&mut decoder, stream, &section) {
                Err(QpackError::Blocked(until)) => {
                    assert!(until <= decoder.inserted() + 128);
                    decoder.stream_unblocked();
                }
                Ok(fields) => assert!(
                    fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= 40_000
                ),
                Err(_) => break,
            }
        }
    }
}
