use std::time::Duration;

use super::*;

/// Body that yields pieces and counts the bytes read; it is pending once before each piece.
struct PacedBody {
    pieces: VecDeque<Bytes>,
    pulled: Rc<RefCell<u64>>,
    waited: bool,
    read_to_end: Rc<RefCell<bool>>,
}

impl Body for PacedBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if !std::mem::replace(&mut self.waited, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.waited = false;
        let piece = self.pieces.pop_front();
        *self.pulled.borrow_mut() += piece.as_ref().map_or(0, Bytes::len) as u64;
        *self.read_to_end.borrow_mut() |= piece.is_none();
        Poll::Ready(piece.map(Ok))
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

struct Bench {
    text: Vec<u8>,
    pulled: Rc<RefCell<u64>>,
    read_to_end: Rc<RefCell<bool>>,
    body: BoxBody,
}

fn bench(ahead: ReadAheadLimits, random: &mut fastrand::Rng) -> Bench {
    let text: Vec<u8> = (0..random.usize(1..40_000)).map(|_| random.u8(..)).collect();
    let mut rest = Bytes::from(text.clone());
    let mut pieces = VecDeque::new();
    while !rest.is_empty() {
        pieces.push_back(rest.split_to(random.usize(1..=rest.len().min(3000))));
    }
    let (pulled, ended) = (Rc::default(), Rc::default());
    let source =
        PacedBody { pieces, pulled: Rc::clone(&pulled), waited: false, read_to_end: Rc::clone(&ended) };
    Bench { text, pulled, read_to_end: ended, body: pulled_body(read_ahead(Box::pin(source), None, ahead)) }
}

fn pulled_body(body: ResponseBody) -> BoxBody {
    match body {
        ResponseBody::Stream(body, _) => body,
        _ => panic!("the body is not a stream"),
    }
}

fn on_worker(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(test);
}

async fn pull(body: &mut BoxBody) -> Option<Bytes> {
    poll_fn(|cx| body.as_mut().poll_data(cx)).await.map(|piece| piece.expect("no error"))
}

#[test]
fn bytes_come_out_as_they_went_in_whatever_the_bounds() {
    on_worker(async {
        for seed in 0..150 {
            let mut random = fastrand::Rng::with_seed(seed);
            let ahead = ReadAheadLimits {
                memory: random.u64(1..8000),
                file: if random.bool() { 0 } else { random.u64(1..50_000) },
                to_the_end: random.bool(),
                rate: 0,
            };
            let mut bench = bench(ahead, &mut random);
            let mut out = Vec::new();
            while let Some(piece) = pull(&mut bench.body).await {
                out.extend_from_slice(&piece);
                if random.u8(..4) == 0 {
                    tokio::time::sleep(Duration::from_micros(100)).await;
                }
            }
            assert!(out == bench.text, "seed {seed}: {ahead:?}");
        }
    });
}

#[test]
fn without_a_file_no_more_is_pulled_than_memory_takes() {
    on_worker(async {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let ahead = ReadAheadLimits { memory: 5000, file: 0, to_the_end: false, rate: 0 };
            let bench = bench(ahead, &mut random);
            tokio::time::sleep(Duration::from_millis(5)).await;
            let pulled = *bench.pulled.borrow();
            assert!(pulled <= 5000 + 3000, "seed {seed}: {pulled}");
            assert!(pulled >= 5000.min(bench.text.len() as u64), "seed {seed}: {pulled}");
        }
    });
}

#[test]
fn slow_client_does_not_hold_the_origin_while_the_file_has_room() {
    on_worker(async {
        let mut random = fastrand::Rng::with_seed(7);
        let ahead = ReadAheadLimits { memory: 100, file: 1 << 20, to_the_end: false, rate: 0 };
        let bench = bench(ahead, &mut random);
        for _ in 0..3000 {
            if *bench.read_to_end.borrow() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the origin was not read to its end");
    });
}

#[test]
fn reader_that_goes_ends_the_origin_unless_it_is_wanted_to_the_end() {
    on_worker(async {
        for to_the_end in [false, true] {
            let mut random = fastrand::Rng::with_seed(3);
            let bench = bench(ReadAheadLimits { memory: 1, file: 0, to_the_end, rate: 0 }, &mut random);
            drop(bench.body);
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(*bench.read_to_end.borrow(), to_the_end);
            assert_eq!(Rc::strong_count(&bench.read_to_end), 1, "the pump has ended");
        }
    });
}

#[test]
fn limit_rate_holds_back_what_is_beyond_a_second() {
    on_worker(async {
        let mut random = fastrand::Rng::with_seed(11);
        let began = std::time::Instant::now();
        let bench =
            bench(ReadAheadLimits { memory: 1 << 20, file: 0, to_the_end: false, rate: 4000 }, &mut random);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let pulled = *bench.pulled.borrow();
        // A read that starts below the rate limit may exceed it by one piece.
        let most = 4000 * (began.elapsed().as_secs() + 1) + 3000;
        assert!((4000..=most).contains(&pulled), "{pulled} of {}", bench.text.len());
    });
}
