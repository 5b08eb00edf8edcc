//! Pages with ESI: the result does not depend on the pieces, holes are inside the page and survive a round trip,
//! combined responses never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_script::esi::{
    Cutter, EsiDeclaration, EsiLimits, FragmentParser, HoleCollector, PageHoles, RejectedMarkup,
};

fn cut(page: &[u8], token: Option<&[u8]>, step: usize) -> (Vec<u8>, PageHoles, RejectedMarkup) {
    let said = EsiDeclaration { token: token.map(Into::into), ..EsiDeclaration::default() };
    let mut cutter = Cutter::new(&said, EsiLimits { includes: 8, host: (*b"h").into() });
    let mut collected = HoleCollector::default();
    page.chunks(step).for_each(|piece| cutter.push(piece, &mut collected));
    let refused = cutter.finish(&mut collected);
    let HoleCollector { text, holes, .. } = collected;
    (text, PageHoles { for_known_visitors: true, holes, ..PageHoles::default() }, refused)
}

fn parts(answer: &[u8], step: usize) -> Result<usize, ()> {
    let mut reader = FragmentParser::new(1 << 16);
    let mut count = 0;
    for mut piece in answer.chunks(step) {
        while !piece.is_empty() {
            count += usize::from(reader.push(&mut piece).map_err(drop)?.is_some());
        }
    }
    Ok(count)
}

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (step, has_token, page) = input;
    let token = has_token.then_some(&b"tokentoken"[..]);
    let step = usize::from(step).max(1);
    let whole = cut(page, token, page.len().max(1));
    assert_eq!(cut(page, token, step), whole);
    assert_eq!(PageHoles::decode(&whole.1.encode(), whole.0.len() as u64).as_ref(), Some(&whole.1));
    assert_eq!(parts(page, step), parts(page, page.len().max(1)));
    let _ = (PageHoles::decode(page, page.len() as u64), PageHoles::is_filled(page), PageHoles::why_of(page));
    if let Some(why) = myriad_script::esi::reason([page].into_iter()) {
        assert!(why.iter().all(|byte| (b' '..=b'~').contains(byte) && !b"\"\\".contains(byte)));
    }
    let _ = EsiDeclaration::of([page].into_iter(), [page].into_iter(), [page].into_iter());
});
