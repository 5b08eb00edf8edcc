use super::*;

#[test]
fn a_good_answer_is_asked_for_again_before_it_ends() {
    let in_s = |next_update| refresh_after(&OcspValidity { this_update: 0, next_update }, 1000).as_secs();
    assert_eq!((in_s(None), in_s(Some(1_000_000))), (3600, 3600));
    assert_eq!((in_s(Some(2000)), in_s(Some(1600)), in_s(Some(1598))), (700, 300, 299));
    assert_eq!((in_s(Some(1015)), in_s(Some(1001)), in_s(Some(0))), (7, 5, 5));
    for pause in PAUSES {
        let less = with_jitter(pause);
        assert!(less <= pause && less >= pause.mul_f64(0.9), "{less:?}");
    }
}

fn question() -> StapleRequest {
    StapleRequest {
        name: "one.crt".to_owned(),
        certificate: Vec::new(),
        issuer: Vec::new(),
        url: "http://ocsp.test".to_owned(),
        verify: false,
    }
}

/// Creates a state with one certificate for each of these responder URLs. Their queries are due at intervals of one
/// millisecond from `since` on, in this order.
fn asking(urls: &[&str], since: Instant) -> (UpdaterState, Vec<Arc<OcspStaple>>) {
    let resolve: Resolve = Arc::new(|_| Ok(Vec::new()));
    let entries = (0..).zip(urls).map(|(number, url)| {
        let question = StapleRequest { url: (*url).to_owned(), ..question() };
        StapleEntry {
            stapled: StapleWithResolver { staple: OcspStaple::new(question), resolve: Arc::clone(&resolve) },
            host: plain_host(url),
            failures: 0,
            due: since + Duration::from_millis(number),
        }
    });
    let entries: Vec<StapleEntry> = entries.collect();
    let staples = entries.iter().map(|entry| Arc::clone(&entry.stapled.staple)).collect();
    (UpdaterState { entries, silent: HashMap::new(), log: Arc::new(|_, _| {}), stopped: false }, staples)
}

/// Returns the index in `staples` of the certificate whose query is due at `now`; `Err` contains the time until the
/// next query.
fn asked(state: &UpdaterState, staples: &[Arc<OcspStaple>], now: Instant) -> Result<usize, Duration> {
    match state.next(now) {
        NextQuery::Now(StapleWithResolver { staple, .. }) => {
            Ok(staples.iter().position(|known| Arc::ptr_eq(known, &staple)).expect("known"))
        }
        NextQuery::At(due) => Err(due - now),
        NextQuery::Never => panic!("there is something to ask"),
    }
}

const SILENT: Result<OcspValidity, StapleError> =
    Err(StapleError::Unanswered(ResponderError::Connection(String::new())));
const GOOD: Result<OcspValidity, StapleError> = Ok(OcspValidity { this_update: 0, next_update: None });

#[test]
fn silent_responder_delays_no_other_responder_and_is_queried_once_for_all() {
    let mut now = Instant::now();
    let dead = ["http://dead.test/", "http://DEAD.test:80/path", "http://dead.test/more"];
    let (mut state, staples) = asking(&[&dead[..], &["http://well.test/"]].concat(), now);
    now += Duration::from_secs(1);
    assert_eq!(asked(&state, &staples, now), Ok(0));
    now += Duration::from_secs(10);
    assert!(state.record_result(&staples[0], &SILENT, now));
    assert_eq!(asked(&state, &staples, now), Ok(3), "the one of another is not held up");
    assert!(!state.record_result(&staples[3], &GOOD, now));
    let mut pauses = Vec::new();
    let mut probes = Vec::new();
    for _ in 0..9 {
        let pause = asked(&state, &staples, now).expect_err("all questions to it pause");
        pauses.push(pause.as_secs_f64());
        now += pause;
        let probe = asked(&state, &staples, now).expect("its time has come");
        probes.push(probe);
        now += Duration::from_secs(10);
        state.record_result(&staples[probe], &SILENT, now);
    }
    assert_eq!(&probes[..3], [1, 2, 0], "they take turns");
    assert!(pauses[0] <= 0.2 && pauses[1] > 0.8 && pauses[4..].iter().all(|pause| *pause > 26.0));
    now += Duration::from_mins(5);
    let probe = asked(&state, &staples, now).expect("due");
    state.record_result(&staples[probe], &GOOD, now);
    let next = asked(&state, &staples, now).expect("it answers again: nobody waits");
    assert_ne!(next, probe);
}

#[test]
fn silent_responder_is_reported_once_for_all_certificates() {
    let now = Instant::now();
    let urls = ["http://dead.test/"; 3];
    let (mut state, staples) = asking(&urls, now);
    let at = |state: &mut UpdaterState, number: usize, s| {
        state.record_result(&staples[number], &SILENT, now + Duration::from_secs(s))
    };
    assert!(at(&mut state, 0, 0));
    assert!(!at(&mut state, 1, 1));
    assert!(at(&mut state, 2, 600));
    // A negative response for one certificate does not affect the others.
    let refused = Err(StapleError::Answer(OcspError::Revoked));
    assert!(!state.record_result(&staples[0], &refused, now), "its second failure in a row");
    assert!(state.silent.is_empty());
}

#[test]
fn what_is_shown_goes_when_it_is_old_or_replaced() {
    let staple = OcspStaple::new(question());
    let show =
        |text: &[u8], until_s| staple.set_response(Some(StapledResponse { der: text.into(), until_s }));
    let until_s = now_s() + 1000;
    show(b"one", Some(until_s));
    staple.expire(until_s);
    assert_eq!((staple.number(), staple.answer().as_deref()), (1, Some(&b"one"[..])));
    staple.expire(until_s + 1);
    assert_eq!((staple.number(), staple.answer()), (2, None));
    staple.set_response(None);
    assert_eq!(staple.number(), 2, "nothing has changed");
    show(b"two", None);
    staple.expire(i64::MAX);
    assert_eq!((staple.number(), staple.answer().as_deref()), (3, Some(&b"two"[..])));
    show(b"over", Some(now_s() - 1));
    assert_eq!((staple.number(), staple.answer()), (5, None), "whoever shows it sees that its time is over");
}
